import type { App } from '../../../app.ts'
import { RawJson } from '../../../http/raw-json.ts'
import * as store from './store.ts'

/** How many bytes of lists are kept in memory. */
const MAX_BYTES = 16 * 1024 * 1024

/** Lists by the id of their version, the one that was not asked for the longest first. They never change. */
const known = new Map<string, RawJson>()
let knownBytes = 0

/**
 * The lists of resources that versions show, as JSON: those of large states, hundreds of KB, are read apart from their
 * rows, and kept, so that to show a version costs the same however large its state is but for the bytes that are sent.
 */
export async function resourceLists(app: Pick<App, 'db'>, versions: readonly store.PresentedRow[]) {
  const lists = new Map<string, RawJson>()
  const missing: string[] = []
  for (const { id, resources, has_long_list: isLong } of versions) {
    const list = isLong ? known.get(id) : new RawJson(Buffer.from(resources ?? '[]'))
    if (!list) missing.push(id)
    else lists.set(id, list)
    if (isLong && list) keep(id, list)
  }
  if (missing.length > 0) {
    for (const { id, resources } of await store.findResourceLists(app.db, missing)) {
      const list = new RawJson(Buffer.from(resources))
      lists.set(id, list)
      keep(id, list)
    }
  }
  return lists
}

function keep(id: string, list: RawJson) {
  const before = known.get(id)
  if (before) {
    known.delete(id)
    knownBytes -= before.bytes.length
  }
  known.set(id, list)
  knownBytes += list.bytes.length
  for (const [oldest, { bytes }] of known) {
    if (knownBytes <= MAX_BYTES) return
    known.delete(oldest)
    knownBytes -= bytes.length
  }
}
