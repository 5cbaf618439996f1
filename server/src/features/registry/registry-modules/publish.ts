import type { Readable } from 'node:stream'
import { ArchiveError } from '@groundstate/contract/archive'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { hashOf, putArchive } from '../../../blobs/archive.ts'
import { isDefinitelyRejected, transact } from '../../../db/db.ts'
import { conflict, invalid, notFound } from '../../../errors.ts'
import { raise } from '../../../events.ts'
import { requireOrganizationById } from '../../organizations/organizations/access.ts'
import { moduleVersionPublished, requireUpload, versionAudit } from './access.ts'
import * as store from './store.ts'
import { MODULE_PREFIX } from './urls.ts'

type Unpublished = NonNullable<Awaited<ReturnType<typeof store.findVersionRow>>>

/**
 * Publishes a version with its archive. An interrupted upload changes nothing; an invalid archive makes the version failed, and
 * another may follow. A client that did not get the response may send the same archive again.
 */
export async function uploadModuleVersion(anyone: Ctx, token: string, archive: Readable) {
  const { ctx, version } = await requireUpload(anyone, token)
  if (version.status === 'ok') return checkRepeated(version, await hashOf('md5', archive))
  const problem = await publish(ctx, version, archive)
  if (problem !== undefined) throw invalid(problem)
}

type FetchedVersion = { moduleId: string; version: string; commitSha: string }

/**
 * Publishes a version from a commit. Returns why the archive is invalid, which the version then says; null once it is published, and
 * undefined if the version is published already or the module is gone.
 */
export async function publishModuleVersion(
  ctx: Ctx,
  { moduleId, version, commitSha }: FetchedVersion,
  archive: Readable,
) {
  const now = ctx.now()
  const row = await transact(ctx, async (ctx) => {
    if (!(await store.lockModule(ctx.db, moduleId))) return undefined
    const known = await store.findVersion(ctx.db, moduleId, version)
    const changes = {
      source: 'vcs',
      status: 'reg_ingressing',
      commit_sha: commitSha,
      error: null,
      updated_at: now,
    } as const
    if (known) return store.updateVersion(ctx.db, known.id, changes)
    const id = ctx.newId('modver')
    return store.insertVersion(ctx.db, { id, registry_module_id: moduleId, version, created_at: now, ...changes })
  })
  const loaded = row && (await store.findVersionRow(ctx.db, row.id))
  if (!loaded) return undefined
  return (await publish(ctx, loaded, archive)) ?? null
}

/** A version cannot be fetched from its repository, which it then says, unless it is published already. */
export async function failModuleVersion(
  ctx: TransactionCtx,
  { moduleId, version, commitSha }: FetchedVersion,
  error: string,
) {
  if (!(await store.lockModule(ctx.db, moduleId))) return
  const now = ctx.now()
  const known = await store.findVersion(ctx.db, moduleId, version)
  const changes = { source: 'vcs', status: 'clone_failed', commit_sha: commitSha, error, updated_at: now } as const
  if (known) {
    // Its archive is invalid, which the version says already.
    if (known.error !== error) await store.updateVersion(ctx.db, known.id, changes)
    return
  }
  const id = ctx.newId('modver')
  await store.insertVersion(ctx.db, { id, registry_module_id: moduleId, version, created_at: now, ...changes })
}

/** Says that the repository of a module cannot be read, or has no version tags, unless versions were published before. */
export async function setModuleStatus(
  ctx: TransactionCtx,
  moduleId: string,
  status: 'no_version_tags' | 'setup_failed',
) {
  await store.setSetupStatus(ctx.db, moduleId, { status, updated_at: ctx.now() })
}

/** Returns why the archive is invalid; undefined once it is published. */
async function publish(ctx: Ctx, version: Unpublished, archive: Readable) {
  // Each attempt has its own key: an earlier attempt may have crashed and left a blob.
  const key = `${MODULE_PREFIX}${version.id}/${ctx.newId('upload')}`
  try {
    const { size, md5 } = await putArchive(ctx.blobs, key, archive)
    if (!(await accept(ctx, version, { key, size, md5 }))) await ctx.blobs.delete(key)
    return undefined
  } catch (error) {
    if (error instanceof ArchiveError) {
      const changes = { status: 'reg_ingress_failed', error: error.message, updated_at: ctx.now() } as const
      await transact(ctx, async (ctx) => store.updateVersion(ctx.db, version.id, changes))
      return error.message
    }
    if (isDefinitelyRejected(error)) await ctx.blobs.delete(key)
    throw error
  }
}

type StoredArchive = { key: string; size: number; md5: string }

/** False if a concurrent upload of the same archive was accepted. */
async function accept(ctx: Ctx, version: Unpublished, { key, size, md5 }: StoredArchive) {
  return transact(ctx, async (ctx) => {
    const now = ctx.now()
    if (!(await store.lockModule(ctx.db, version.registry_module_id))) throw notFound('upload')
    // Permissions may have changed during a long upload.
    await requireOrganizationById(ctx, version.organization_id, 'modules:manage')
    const changes = { status: 'ok', error: null, blob_key: key, size, md5, updated_at: now } as const
    if (!(await store.updateVersion(ctx.db, version.id, changes))) {
      const other = await store.findVersionRow(ctx.db, version.id)
      if (!other) throw notFound('upload')
      checkRepeated(other, md5)
      return false
    }
    await store.updateModule(ctx.db, version.registry_module_id, { status: 'setup_complete', updated_at: now })
    const module = { ...version, id: version.registry_module_id }
    await recordAudit(ctx, versionAudit(version, module, 'upload'))
    await raise(ctx, moduleVersionPublished, { versionId: version.id })
    return true
  })
}

function checkRepeated(version: store.VersionRow, md5: string) {
  if (version.md5 !== md5)
    throw conflict(
      `version ${version.version} is published with another archive and never changes: publish a new version`,
    )
}
