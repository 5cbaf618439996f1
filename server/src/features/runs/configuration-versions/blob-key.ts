/** Archives are stored as `configurations/<version>/<attempt>`. */
export const ARCHIVE_PREFIX = 'configurations/'
