/** An edge of a directed graph. */
export type Edge = { from: string; to: string }

/**
 * Numbers the cycles of a graph from 1: nodes that reach each other have the same number. Nodes outside of every cycle are
 * left out. This is Tarjan's algorithm for strongly connected components, without recursion.
 */
export function cyclesOf(edges: readonly Edge[]): ReadonlyMap<string, number> {
  const next = new Map<string, string[]>()
  for (const { from, to } of edges) {
    next.set(from, [...(next.get(from) ?? []), to])
    if (!next.has(to)) next.set(to, [])
  }
  const cycles = new Map<string, number>()
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const open: string[] = []
  const isOpen = new Set<string>()
  let count = 0

  const enter = (node: string) => {
    index.set(node, index.size)
    low.set(node, index.size - 1)
    open.push(node)
    isOpen.add(node)
    return { node, ends: next.get(node) ?? [], at: 0 }
  }
  const lower = (node: string, value: number) => low.set(node, Math.min(low.get(node) ?? value, value))
  const leave = (node: string) => {
    if (low.get(node) !== index.get(node)) return
    const members = open.splice(open.lastIndexOf(node))
    for (const member of members) isOpen.delete(member)
    if (members.length === 1) return
    count += 1
    for (const member of members) cycles.set(member, count)
  }

  for (const start of next.keys()) {
    const path = index.has(start) ? [] : [enter(start)]
    for (let step = path.at(-1); step; step = path.at(-1)) {
      const end = step.ends[step.at]
      step.at += 1
      if (end === undefined) {
        path.pop()
        leave(step.node)
        const before = path.at(-1)
        if (before) lower(before.node, low.get(step.node) ?? 0)
      } else if (!index.has(end)) path.push(enter(end))
      else if (isOpen.has(end)) lower(step.node, index.get(end) ?? 0)
    }
  }
  return cycles
}
