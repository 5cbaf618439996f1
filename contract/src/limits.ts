// Limits that the web UI shows too. This file must not import zod, which would then be part of the UI's chunks.

/** Maximum length of a tag's key or value, in characters, and the characters that it may have. */
export const TAG_MAX = 255
export const TAG_TEXT = /^[\p{L}\p{N} _.:=+@-]*$/u
export const TAG_RULE = 'may only contain letters, numbers, spaces and the characters _ . : = + - @'

/** Minimum length of a password, in characters. */
export const PASSWORD_MIN = 8

/** Maximum size of the content of a state, in bytes. */
export const MAX_STATE_BYTES = 512 * 1024 ** 2
