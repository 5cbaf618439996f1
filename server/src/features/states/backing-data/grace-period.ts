export const DAY_MS = 86_400_000

/** How long soft-deleted backing data can be restored unless the request says otherwise: a week, in ms. */
export const GRACE_PERIOD_MS = 7 * DAY_MS
