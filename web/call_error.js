/* call_error.js - why a call did not come about, or ended */

export class CallError extends Error {
  constructor(code, message = '') {
    super(message);
    this.code = code;
  }

  /* Of a refusal: {"error":{"message":"...","code":"..."}}, or whatever else came. */
  static async of(response) {
    const body = await response.json().catch(() => null);
    return new CallError(
      body?.error?.code ?? 'refused',
      body?.error?.message ?? `The server answered with status ${response.status}.`,
    );
  }
}
