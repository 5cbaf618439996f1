import type { DependencyGraph, GraphTrigger, GraphWorkspace } from './run-triggers.ts'

/** Maximum number of workspaces that the graph draws. */
export const MAX_NODES = 200

type Filter = { q?: string | undefined; project?: string | undefined }
type DrawnWorkspace = GraphWorkspace & {
  /** Matches the filter; others are only neighbours of a match. */
  isMatch: boolean
}
export type DrawnGraph = { workspaces: DrawnWorkspace[]; triggers: GraphTrigger[]; matching: number; total: number }

/** The part of a graph to draw: the workspaces that match the filter and their neighbours, connected ones first. */
export function drawnGraph({ workspaces, triggers }: DependencyGraph, { q = '', project }: Filter): DrawnGraph {
  const text = q.toLowerCase()
  const isFiltered = text !== '' || project !== undefined
  const matches = new Set(
    workspaces
      .filter(({ name, 'project-id': id }) => name.toLowerCase().includes(text) && (!project || id === project))
      .map(({ id }) => id),
  )
  const near = triggers.filter(
    ({ 'sourceable-id': source, 'workspace-id': destination }) => matches.has(source) || matches.has(destination),
  )
  const shown = new Set([...matches, ...near.flatMap((trigger) => [trigger['sourceable-id'], trigger['workspace-id']])])
  const drawn = firstConnected(shown, triggers)
  return {
    workspaces: workspaces
      .filter(({ id }) => drawn.has(id))
      .map((workspace) => ({ ...workspace, isMatch: matches.has(workspace.id) })),
    triggers: (isFiltered ? near : triggers).filter(
      (trigger) => drawn.has(trigger['sourceable-id']) && drawn.has(trigger['workspace-id']),
    ),
    matching: matches.size,
    total: shown.size,
  }
}

/** Up to `MAX_NODES` ids, breadth first, so that the drawn part consists of connected pieces. */
function firstConnected(ids: ReadonlySet<string>, triggers: readonly GraphTrigger[]) {
  const links = triggers.flatMap(({ 'sourceable-id': source, 'workspace-id': destination }) => [
    { from: source, to: destination },
    { from: destination, to: source },
  ])
  const neighbours = Map.groupBy(links, ({ from }) => from)
  const found = new Set<string>()
  for (const start of ids) {
    const queue = [start]
    for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
      if (found.size >= MAX_NODES) return found
      if (found.has(id)) continue
      found.add(id)
      queue.push(...(neighbours.get(id) ?? []).map(({ to }) => to).filter((to) => ids.has(to) && !found.has(to)))
    }
  }
  return found
}

type Point = { x: number; y: number }

/** An SVG path from the first to the last point, rounded at those in between. */
export function curve(points: readonly Point[]) {
  const [first, ...rest] = points
  const last = rest.pop()
  if (!first || !last) return ''
  const turns = rest.map((point, index) => {
    const next = rest[index + 1]
    const end = next ? { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 } : last
    return `Q ${point.x},${point.y} ${end.x},${end.y}`
  })
  return `M ${first.x},${first.y} ${turns.join(' ') || `L ${last.x},${last.y}`}`
}
