import type { RollbackStateVersion } from '@groundstate/contract/state-versions'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { conflict, invalid, notFound } from '../../../errors.ts'
import { insertStateVersion, type NewVersion } from './new-version-store.ts'
import { md5Of, readContent, storeContent } from './content.ts'
import { creatorId, requireStateWorkspace, surroundingsOf, versionAudit } from './create.ts'
import { extractSmall, resealOutputs } from './extraction-columns.ts'
import { EXTRACT } from './extract.ts'
import { checkHoldsLock } from './check-lock.ts'
import { rewriteSerial } from '../../../terraform-state/rewrite-serial.ts'
import { readStateHeader } from '../../../terraform-state/state-header.ts'
import * as store from './store.ts'
import { auditRow } from '../../../audit/record.ts'
import { lockWorkspaceRow } from '../../workspaces/workspaces/store.ts'
import type { Workspace } from '../../workspaces/workspaces/workspace.ts'

const POINTER = '/data/relationships/rollback-state-version'

/** The workspace, for a caller who may roll its state back. Throws `not-found` for everyone else. */
export async function requireRollbackWorkspace(ctx: Ctx, workspaceId: string) {
  const workspace = await requireStateWorkspace(ctx, workspaceId, 'state-versions:write')
  // The token of a run writes what its engine stores; to roll back is for users and teams (INTERFACE §4.7.3).
  if (ctx.actor.kind === 'run') throw notFound('workspace')
  return workspace
}

/**
 * Makes a copy of an earlier version the current state of a workspace from `requireRollbackWorkspace`. The copy's serial is above every earlier one and
 * stands in its bytes too, so that the next apply accepts it; no other byte differs.
 *
 * Throws `not-found` for a target of another workspace, `invalid` for one without readable content, `conflict` without
 * the lock.
 */
export async function rollbackStateVersion(ctx: Ctx, workspace: Workspace, input: RollbackStateVersion) {
  const targetId = input.relationships['rollback-state-version'].data.id
  await requireTarget(ctx, targetId, workspace.id)
  await checkHoldsLock(ctx, workspace)

  const version = await transact(ctx, async (ctx) => {
    const locked = await lockWorkspaceRow(ctx.db, workspace.id)
    if (!locked) throw notFound('workspace')
    await checkHoldsLock(ctx, locked)
    const target = await requireTarget(ctx, targetId, locked.id)
    const highest = await store.findHighestSerial(ctx.db, locked.id)
    if (highest >= Number.MAX_SAFE_INTEGER) throw conflict(`no serial can be above ${highest}, which is taken`)
    const copy = await copyOf(ctx, target, highest + 1)
    const audit = auditRow(
      ctx,
      versionAudit(workspace, 'rollback', { id: copy.id, serial: copy.serial, rollback_of: target.id }),
    )
    const row = await insertStateVersion(ctx.db, locked, { ...copy, lockHolderId: locked.locked_by_id, audit })
    if (!row) throw new Error(`the row of workspace ${locked.id} changed under its lock`)
    if (!copy.extracted.processed) await ctx.jobs.enqueue(ctx.db, EXTRACT, { id: copy.id })
    return row
  })
  return { version, surroundings: surroundingsOf(workspace) }
}

async function requireTarget(ctx: Ctx, id: string, workspaceId: string) {
  const target = await store.findVersion(ctx.db, id)
  if (target?.workspace_id !== workspaceId) throw notFound(`state version ${id.slice(0, 100)}`, { pointer: POINTER })
  if (target.status === 'finalized') return target
  throw invalid(`state version ${target.id} is ${target.status}, only a finalized one can be rolled back to`, POINTER)
}

async function copyOf(ctx: Ctx, target: store.PresentedRow, serial: number): Promise<Omit<NewVersion, 'audit'>> {
  const [original, json, outputs] = await Promise.all([
    readContent(ctx, target, 'raw'),
    readContent(ctx, target, 'json'),
    store.listOutputRows(ctx.db, target.id),
  ])
  if (original === undefined) throw new Error(`${target.id} is finalized and has no content`)
  const id = ctx.newId('sv')
  const raw = rewriteSerial(original, serial)
  const md5 = md5Of(raw)
  const [rawStored, jsonStored] = await Promise.all([
    storeContent(ctx, { id, kind: 'raw', md5 }, raw),
    json && storeContent(ctx, { id, kind: 'json' }, json),
  ])
  return {
    id,
    serial,
    md5,
    lineage: target.lineage,
    size: raw.length,
    intermediate: false,
    rawLocation: rawStored.location,
    rawSealed: rawStored.sealed,
    jsonLocation: jsonStored?.location ?? null,
    jsonSealed: jsonStored?.sealed,
    createdByUserId: creatorId(ctx),
    lockHolderId: null,
    runId: null,
    rollbackOfId: target.id,
    createdAt: ctx.now(),
    extracted: extractSmall(ctx, raw, readStateHeader(raw), resealOutputs(ctx, outputs)),
  }
}
