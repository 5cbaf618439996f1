/**
 * A header of responses that have state versions: the seconds between the snapshots that a command line stores while it applies. It
 * reads the header from any of these responses whose type is that of JSON:API.
 */
export const SNAPSHOT_INTERVAL = { 'x-terraform-snapshot-interval': '30' }
