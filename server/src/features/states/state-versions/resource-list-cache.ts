import { LRUCache } from 'lru-cache'
import type { App } from '../../../app.ts'
import { RawJson } from '../../../http/raw-json.ts'
import * as store from './store.ts'

/** Lists by the id of their version, which never change; at most so many bytes of them. */
const known = new LRUCache<string, RawJson>({
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: ({ bytes }) => bytes.length,
})

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
  }
  if (missing.length > 0) {
    for (const { id, resources } of await store.findResourceLists(app.db, missing)) {
      const list = new RawJson(Buffer.from(resources))
      lists.set(id, list)
      known.set(id, list)
    }
  }
  return lists
}
