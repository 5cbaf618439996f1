// Limits that the web UI shows too. This file must not import zod, which would then be part of the UI's chunks.

/** Minimum length of a password, in characters. */
export const PASSWORD_MIN = 8

/** Maximum size of the content of a state, in bytes. */
export const MAX_STATE_BYTES = 512 * 1024 ** 2
