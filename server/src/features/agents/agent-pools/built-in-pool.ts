/** The pool of the agents inside the server. It belongs to no organization, and no request reaches it. */
export const BUILT_IN_POOL_ID = 'apool-builtin'
