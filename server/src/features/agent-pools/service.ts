/** The pool of the agents inside the server; it belongs to no organization. */
export const BUILT_IN_POOL_ID = 'apool-builtin'
