/*
 * sdp_fragment.js - the fragment of SDP that asks for new ICE credentials, and its use (RFC 8840)
 *
 * Pure. One section carries the transport of all (BUNDLE): the first.
 */

const lineOf = (sdp, start) => sdp.split(/\r?\n/).find((line) => line.startsWith(start));

/* What a PATCH sends of an offer. */
export function fragmentOf(offer) {
  return ['a=ice-ufrag:', 'a=ice-pwd:', 'm=', 'a=mid:']
    .map((start) => lineOf(offer, start))
    .filter(Boolean)
    .map((line) => `${line}\r\n`)
    .join('');
}

/* The answer as it would have been with the credentials of the fragment. */
export function withCredentials(answer, fragment) {
  return ['a=ice-ufrag:', 'a=ice-pwd:'].reduce((sdp, start) => {
    const line = lineOf(fragment, start);
    if (!line) {
      throw new Error(`no ${start} in the fragment`);
    }
    return sdp.replaceAll(new RegExp(`^${start}.*$`, 'gm'), line);
  }, answer);
}
