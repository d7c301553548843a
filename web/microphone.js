/* microphone.js - the user's microphone, or why there is none */

import { CallError } from './call_error.js';

const codes = {
  NotAllowedError: 'microphone_refused',
  SecurityError: 'microphone_refused',
  NotFoundError: 'microphone_missing',
  OverconstrainedError: 'microphone_missing',
};

/* With `raw`, the browser changes nothing of the sound: for tests that measure it. */
export async function openMicrophone(raw) {
  const processed = !raw;
  try {
    return await navigator.mediaDevices.getUserMedia({
      audio: {
        echoCancellation: processed,
        noiseSuppression: processed,
        autoGainControl: processed,
        channelCount: 1,
      },
    });
  } catch (error) {
    throw new CallError(codes[error.name] ?? 'microphone_busy');
  }
}

export function closeMicrophone(stream) {
  for (const track of stream.getTracks()) {
    track.stop();
  }
}
