import type { RollbackStateVersion } from '@groundstate/contract/state-versions'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { conflict, invalid, notFound } from '../../../errors.ts'
import { rewriteSerial } from '../../../terraform-state/rewrite-serial.ts'
import type { Workspace } from '../../workspaces/workspaces/access.ts'
import { lockWorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { stateVersionAudit } from './access.ts'
import { examineContent } from './content-rules.ts'
import { deleteRejectedContents, readContent, storeContent, withWhole } from './content.ts'
import { listOutputs } from './extraction-store.ts'
import { examinedColumns, extractionJob } from './extraction.ts'
import type { NewVersion } from './new-version-store.ts'
import { resealOutputs } from './sealed-outputs.ts'
import { checkHoldsLock } from './serial.ts'
import { addVersion, creatorId } from './service.ts'
import * as store from './store.ts'

const POINTER = '/data/relationships/rollback-state-version'

/**
 * Makes a copy of an earlier version the current state of a workspace from `requireRollbackWorkspace`. The copy's serial is above all
 * others. It is also written into the state, so that the next apply accepts it; no other byte differs.
 *
 * Throws `not-found` for a target of another workspace, `invalid` for one without readable content, `conflict` without the lock.
 */
export async function rollbackStateVersion(ctx: Ctx, workspace: Workspace, input: RollbackStateVersion) {
  const targetId = input.relationships['rollback-state-version'].data.id
  for (;;) {
    const target = await requireTarget(ctx, targetId, workspace.id)
    await checkHoldsLock(ctx, workspace)
    // Outside of the transaction, which must not wait for the object store.
    const { copy, contents } = await withWhole(
      target.json_location === null ? (target.size ?? 0) : Infinity,
      async () => copyOf(ctx, target, await nextSerial(ctx, workspace.id)),
    )
    try {
      const row = await insertCopy(ctx, workspace, copy)
      if (row) return row
    } catch (error) {
      await deleteRejectedContents(ctx, contents, error)
      throw error
    }
  }
}

type Copy = Omit<NewVersion, 'audit' | 'rollbackOfId'> & { rollbackOfId: string }

/** Returns undefined if another version has taken the copy's serial; then the stored content of the copy is swept later. */
async function insertCopy(ctx: Ctx, { id, organization_id }: Workspace, copy: Copy) {
  return transact(ctx, async (ctx) => {
    const locked = await lockWorkspaceRow(ctx.db, id)
    if (!locked) throw notFound('workspace')
    await checkHoldsLock(ctx, locked)
    await requireTarget(ctx, copy.rollbackOfId, id)
    if ((await nextSerial(ctx, id)) !== copy.serial) return undefined
    const audited = { ...copy, workspace_id: id, organization_id }
    const audit = stateVersionAudit(audited, 'rollback', { rollback_of: copy.rollbackOfId })
    const row = await addVersion(ctx, locked, { ...copy, lockHolderId: locked.locked_by_id, audit })
    if (!row) throw new Error(`the row of workspace ${id} changed under its lock`)
    if (!copy.extracted.processed) await ctx.jobs.enqueue(ctx.db, extractionJob, { id: copy.id })
    return row
  })
}

async function nextSerial(ctx: Ctx, workspaceId: string) {
  const highest = await store.findHighestSerial(ctx.db, workspaceId)
  if (highest >= Number.MAX_SAFE_INTEGER) throw conflict(`the workspace already has the maximum serial ${highest}`)
  return highest + 1
}

async function requireTarget(ctx: Ctx, id: string, workspaceId: string) {
  const target = await store.findVersion(ctx.db, id)
  if (target?.workspace_id !== workspaceId) throw notFound(`state version ${id.slice(0, 100)}`, { pointer: POINTER })
  if (target.status === 'finalized') return target
  throw invalid(`state version ${target.id} is ${target.status}, only a finalized one can be rolled back to`, POINTER)
}

async function copyOf(ctx: Ctx, target: store.PresentedRow, serial: number) {
  const [original, json, outputs] = await Promise.all([
    readContent(ctx, target, 'raw'),
    readContent(ctx, target, 'json'),
    listOutputs(ctx.db, target.id),
  ])
  if (original === undefined) {
    await requireTarget(ctx, target.id, target.workspace_id)
    throw new Error(`${target.id} is finalized and has no content`)
  }
  const id = ctx.newId('sv')
  const raw = rewriteSerial(original, serial)
  const examined = await examineContent(ctx, raw)
  const { md5 } = examined
  const [rawStored, jsonStored] = await Promise.all([
    storeContent(ctx, { id, kind: 'raw', md5 }, raw),
    json && storeContent(ctx, { id, kind: 'json' }, json),
  ])
  const copy: Copy = {
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
    extracted: examinedColumns(ctx, examined, resealOutputs(ctx, outputs)),
  }
  return { copy, contents: [rawStored, jsonStored] }
}
