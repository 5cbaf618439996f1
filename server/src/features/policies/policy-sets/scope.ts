import type { Identifier } from '@groundstate/contract/json-api'
import type { CreatePolicySet, TagSelector } from '@groundstate/contract/policy-sets'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { listReadableProjects } from '../../organizations/projects/access.ts'
import { requireVisibleWorkspaces } from '../../workspaces/workspaces/access.ts'
import { requirePoliciesIn } from '../policies/access.ts'
import { policySetAudit, requirePolicySet } from './access.ts'
import * as store from './store.ts'

/** The relationships of a set that requests change, and the types of their resources. */
export const SET_LISTS = {
  policies: 'policies',
  workspaces: 'workspaces',
  'workspace-exclusions': 'workspaces',
  projects: 'projects',
  'project-exclusions': 'projects',
} as const satisfies Record<store.ListName, string>

const NAMES = Object.keys(SET_LISTS) as store.ListName[]
const MAX_SELECTORS = 100

type ListChange = { name: store.ListName; change: 'add' | 'remove'; identifiers: readonly Identifier[] }

/** Adds resources to a list of a set, or removes them. Removing one that it does not have changes nothing. */
export async function changeSetList(ctx: Ctx, id: string, { name, change, identifiers }: ListChange) {
  const set = await requirePolicySet(ctx, id, 'policies:manage')
  if (identifiers.length === 0) throw invalid('data is empty: at least one resource is needed', '/data')
  const ids = identifiers.map((identifier) => identifier.id)
  if (change === 'add') await requireItems(ctx, set.organization_id, { name, ids, pointer: '/data' })
  await transact(ctx, async (ctx) => {
    const locked = await store.lockPolicySet(ctx.db, id)
    if (!locked) throw notFound('policy set')
    if (change === 'add') checkList(locked, { name, pointer: '/data' })
    await (change === 'add' ? store.insertItems : store.deleteItems)(ctx.db, id, name, ids)
    await store.updatePolicySet(ctx.db, id, { updated_at: ctx.now() })
    const action = `${change}_${name.replace('-', '_')}`
    await recordAudit(ctx, policySetAudit(set, action, { [name]: ids }))
  })
}

type Items = { name: store.ListName; ids: readonly string[]; pointer: string }

/** Throws `invalid` for a resource that the organization does not have, or that the actor may not see. */
async function requireItems(ctx: Ctx, organizationId: string, { name, ids, pointer }: Items) {
  const type = SET_LISTS[name]
  if (type === 'policies') return requirePoliciesIn(ctx, organizationId, { ids, pointer })
  if (type === 'workspaces') {
    const identifiers = ids.map((id) => ({ id, type }))
    await requireVisibleWorkspaces(ctx, organizationId, identifiers, pointer)
    return
  }
  const projects = await listReadableProjects(ctx, ids)
  const readable = new Set(
    projects.flatMap((project) => (project.organization_id === organizationId ? project.id : [])),
  )
  const missing = ids.findIndex((id) => !readable.has(id))
  if (missing >= 0) throw invalid(`there is no project ${ids[missing]} in the organization`, `${pointer}/${missing}/id`)
}

type Kind = { name: string; is_global: boolean; is_versioned: boolean }

function checkList(set: Kind, { name, pointer }: { name: store.ListName; pointer: string }) {
  if (name === 'policies' && set.is_versioned)
    throw invalid(`the policies of ${set.name} come from its versions: upload a version instead`, pointer)
  if ((name === 'workspaces' || name === 'projects') && set.is_global)
    throw invalid(
      `the set ${set.name} is global, so it applies to all ${name}: exclude those that it must not`,
      pointer,
    )
}

/** Replaces the lists that a body has; other lists are unchanged. */
export async function replaceSetLists(
  ctx: TransactionCtx,
  set: Kind & { id: string; organization_id: string },
  relationships: CreatePolicySet['relationships'],
) {
  for (const name of NAMES) {
    const ids = relationships[name]?.data.map((identifier) => identifier.id)
    if (!ids) continue
    const pointer = `/data/relationships/${name}/data`
    if (ids.length > 0) checkList(set, { name, pointer })
    await requireItems(ctx, set.organization_id, { name, ids, pointer })
    // The actor replaces the list that they see.
    await store.deleteVisibleItems(ctx.db, set.id, { name, actor: ctx.actor })
    await store.insertItems(ctx.db, set.id, name, ids)
  }
}

/** Removes what a global set does not have: it applies to all workspaces. */
export async function clearAttachments(ctx: TransactionCtx, id: string) {
  await store.deleteAllItems(ctx.db, id, 'workspaces')
  await store.deleteAllItems(ctx.db, id, 'projects')
  await store.deleteAllTagSelectors(ctx.db, id, { inclusions: true })
}

export async function replaceTagSelectors(
  ctx: TransactionCtx,
  set: Kind & { id: string },
  selectors: readonly TagSelector[],
) {
  await store.deleteAllTagSelectors(ctx.db, set.id, { inclusions: false })
  checkSelectors(set, selectors, '/data/attributes/tag-selectors')
  await store.insertTagSelectors(ctx.db, set.id, selectors.map(selectorRow))
}

type SelectorChange = { change: 'add' | 'remove'; selectors: readonly TagSelector[] }

export async function changeTagSelectors(ctx: Ctx, id: string, { change, selectors }: SelectorChange) {
  const set = await requirePolicySet(ctx, id, 'policies:manage')
  const rows = selectors.map(selectorRow)
  await transact(ctx, async (ctx) => {
    const locked = await store.lockPolicySet(ctx.db, id)
    if (!locked) throw notFound('policy set')
    if (change === 'add') {
      checkSelectors(locked, selectors, '/data')
      await store.insertTagSelectors(ctx.db, id, rows)
      if ((await store.countTagSelectors(ctx.db, id)) > MAX_SELECTORS)
        throw invalid(`the set would have more than ${MAX_SELECTORS} tag selectors`, '/data')
    } else await store.deleteTagSelectors(ctx.db, id, rows)
    await store.updatePolicySet(ctx.db, id, { updated_at: ctx.now() })
    await recordAudit(ctx, policySetAudit(set, `${change}_tag_selectors`, { selectors: rows }))
  })
}

function checkSelectors(set: Kind, selectors: readonly TagSelector[], pointer: string) {
  const inclusion = selectors.findIndex((selector) => !selector['is-exclude'])
  if (set.is_global && inclusion >= 0)
    throw invalid(
      `the set ${set.name} is global, so it applies to all workspaces: its tag selectors must have is-exclude`,
      `${pointer}/${inclusion}`,
    )
}

function selectorRow({ 'tag-key': key, 'tag-value': value, 'is-exclude': isExclusion }: TagSelector) {
  return { key, value: value ?? null, is_exclusion: isExclusion }
}
