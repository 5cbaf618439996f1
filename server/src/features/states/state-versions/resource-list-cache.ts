import { LRUCache } from 'lru-cache'
import type { App } from '../../../app.ts'
import { RawJson } from '../../../http/raw-json.ts'
import { dropWhenIdle } from '../../../idle-memory.ts'
import { unpackList } from '../../../terraform-state/packed-list.ts'
import { findResourceLists } from './extraction-store.ts'
import type { PresentedRow } from './store.ts'

/** Lists by the id of their version, which never change. */
const cache = new LRUCache<string, RawJson>({
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: ({ bytes }) => bytes.length,
})
dropWhenIdle(() => cache.clear())

/**
 * The lists of resources that versions show, as JSON. Those of large states have hundreds of KB; they are read apart from their
 * rows and cached, so that showing a version costs the same for every size of state, except for the bytes that are sent.
 */
export async function resourceLists(app: Pick<App, 'db'>, versions: readonly PresentedRow[]) {
  const lists = new Map<string, RawJson>()
  const missing: string[] = []
  for (const { id, resources, has_long_list: isLong } of versions) {
    const list = isLong ? cache.get(id) : new RawJson(Buffer.from(resources ?? '[]'))
    if (!list) missing.push(id)
    else lists.set(id, list)
  }
  if (missing.length > 0) {
    for (const { id, packed, json } of await findResourceLists(app.db, missing)) {
      const list = new RawJson(packed ? unpackList(packed) : Buffer.from(json ?? '[]'))
      lists.set(id, list)
      cache.set(id, list)
    }
  }
  return lists
}
