import type { Ctx } from '../../../app.ts'
import { seesEveryWorkspace } from '../../../auth/access-context.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { requireRun } from '../runs/access.ts'
import * as store from './store.ts'

const MAX_RUNS = 1000
const MAX_FIRINGS = 3000

export type TriggerChain = Awaited<ReturnType<typeof readTriggerChain>>

export async function readTriggerChain(ctx: Ctx, id: string) {
  const { id: runId } = await requireRun(ctx, id, 'runs:read')
  const allCauses = await store.listChainIds(ctx.db, runId, { side: 'causes', limit: MAX_RUNS + 1 })
  const causes = allCauses.slice(0, MAX_RUNS)
  // Both sides contain the run itself.
  const room = MAX_RUNS - causes.length + 1
  const allConsequences = await store.listChainIds(ctx.db, runId, { side: 'consequences', limit: room + 1 })
  const consequences = allConsequences.slice(0, room)
  const [runs, firings] = await Promise.all([
    store.listChainRuns(ctx.db, ctx.actor, [...causes, ...consequences]),
    store.listChainFirings(ctx.db, ctx.actor, { causes, consequences, limit: MAX_FIRINGS + 1 }),
  ])
  const truncated = allCauses.length > MAX_RUNS || allConsequences.length > room || firings.length > MAX_FIRINGS
  return { runId, runs, firings: firings.slice(0, MAX_FIRINGS), truncated }
}

const MAX_TRIGGERS = 10_000

export type DependencyGraph = Awaited<ReturnType<typeof readDependencyGraph>>

/** Reads the workspaces of an organization that the actor may read, and the run triggers and cycles between them. */
export async function readDependencyGraph(ctx: Ctx, name: string) {
  const organization = await requireOrganization(ctx, name, 'organization:read')
  const all = await store.listTriggersOf(ctx.db, organization.id, MAX_TRIGGERS + 1)
  const ids = [...new Set(all.flatMap((trigger) => [trigger.source_id, trigger.workspace_id]))]
  const seesAll = seesEveryWorkspace(organization.access)
  const workspaces = await store.listGraphWorkspaces(ctx.db, ctx.actor, { ids, seesAll })
  const visible = new Set(workspaces.map(({ id }) => id))
  const triggers = all
    .slice(0, MAX_TRIGGERS)
    .filter((trigger) => visible.has(trigger.source_id) && visible.has(trigger.workspace_id))
  // A cycle through a workspace that the actor may not read would reveal triggers there.
  const cycles = cyclesOf(triggers.map((trigger) => ({ from: trigger.source_id, to: trigger.workspace_id })))
  return { organization: organization.name, workspaces, triggers, cycles, truncated: all.length > MAX_TRIGGERS }
}

type Edge = { from: string; to: string }

/** Numbers the cycles of a graph from 1, by Tarjan's strongly connected components without recursion. */
export function cyclesOf(edges: readonly Edge[]): ReadonlyMap<string, number> {
  const outgoing = Map.groupBy(edges, ({ from }) => from)
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
    return { node, edges: outgoing.get(node) ?? [], at: 0 }
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

  for (const start of new Set(edges.flatMap(({ from, to }) => [from, to]))) {
    const path = index.has(start) ? [] : [enter(start)]
    for (let step = path.at(-1); step; step = path.at(-1)) {
      const end = step.edges[step.at]?.to
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
