import { statSync, type Stats } from 'node:fs'

/** What is at a path, links followed; undefined where nothing is or may be seen. It waits: Node's threads take longer than the look. */
export function factsOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}
