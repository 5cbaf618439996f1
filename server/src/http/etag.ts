/**
 * The ETag of a document with this digest. It is weak, since a proxy may compress the bytes. If-None-Match saves the
 * transfer, not the work.
 */
export function entityTag(digest: string) {
  return `W/"${digest}"`
}

/** Whether the If-None-Match header of a request names this tag, by weak comparison (RFC 9110 §13.1.2). */
export function isMatched(header: string | undefined, tag: string) {
  if (header === undefined) return false
  const wanted = tag.replace(/^W\//, '')
  return header.split(',').some((given) => {
    const name = given.trim()
    return name === '*' || name.replace(/^W\//, '') === wanted
  })
}
