import type { Ctx } from '../../../app.ts'
import { seesEveryWorkspace } from '../../../auth/access-context.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { requireRun } from '../runs/access.ts'
import * as store from './graph-store.ts'
import type { DependencyGraph, TriggerChain } from './resource.ts'

/** The most runs and firings of a chain that are shown. */
const MAX_RUNS = 1000
const MAX_FIRINGS = 3000

/** Reads the causes and the consequences of a run that the actor may read. */
export async function readTriggerChain(ctx: Ctx, id: string): Promise<TriggerChain> {
  const { id: runId } = await requireRun(ctx, id, 'runs:read')
  const foundCauses = await store.listCauseIds(ctx.db, runId, MAX_RUNS + 1)
  const causes = foundCauses.slice(0, MAX_RUNS)
  // The run itself is on both sides.
  const room = MAX_RUNS - causes.length + 1
  const foundConsequences = await store.listConsequenceIds(ctx.db, runId, room + 1)
  const consequences = foundConsequences.slice(0, room)
  const [runs, firings] = await Promise.all([
    store.listChainRuns(ctx.db, ctx.actor, [...causes, ...consequences]),
    store.listChainFirings(ctx.db, ctx.actor, { causes, consequences, limit: MAX_FIRINGS + 1 }),
  ])
  const isWhole = foundCauses.length <= MAX_RUNS && foundConsequences.length <= room && firings.length <= MAX_FIRINGS
  return { runId, runs, firings: firings.slice(0, MAX_FIRINGS), truncated: !isWhole }
}

const MAX_TRIGGERS = 10_000

export async function readDependencyGraph(ctx: Ctx, name: string): Promise<DependencyGraph> {
  const organization = await requireOrganization(ctx, name, 'organization:read')
  const found = await store.listTriggersOf(ctx.db, organization.id, MAX_TRIGGERS + 1)
  const ids = new Set(found.flatMap((trigger) => [trigger.source_id, trigger.workspace_id]))
  const workspaces = await store.listGraphWorkspaces(ctx.db, ctx.actor, {
    ids: [...ids],
    seesAll: seesEveryWorkspace(organization.access),
  })
  const shown = new Set(workspaces.map(({ id }) => id))
  const triggers = found
    .slice(0, MAX_TRIGGERS)
    .filter((trigger) => shown.has(trigger.source_id) && shown.has(trigger.workspace_id))
  // A cycle through a workspace that the actor may not read would tell it of triggers there.
  const cycles = cyclesOf(triggers.map((trigger) => ({ from: trigger.source_id, to: trigger.workspace_id })))
  return { organization: organization.name, workspaces, triggers, cycles, truncated: found.length > MAX_TRIGGERS }
}

/** An edge of a directed graph. */
type Edge = { from: string; to: string }

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
