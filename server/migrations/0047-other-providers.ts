/** Empty since 0049 drops what this created: an index of all states, which could not be stored while it was built. */
export const up = 'select'
