import type { Readable } from 'node:stream'
import { ArchiveError } from '@groundstate/contract/archive'
import { policiesDirectory } from '@groundstate/contract/policy-sets'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { putArchive } from '../../../blobs/archive.ts'
import { announce } from '../../../changes/announce.ts'
import { isDefinitelyRejected, transact } from '../../../db/db.ts'
import { conflict, invalid, notFound } from '../../../errors.ts'
import { lockPolicySet } from '../policy-sets/store.ts'
import { requireUpload, versionAudit } from './access.ts'
import { PolicyError, readPolicies } from './definitions.ts'
import * as store from './store.ts'
import { POLICY_PREFIX } from './urls.ts'

/** Publishes the archive of a version. An invalid one makes the version errored; an interrupted upload changes nothing. */
export async function uploadPolicySetVersion(anyone: Ctx, token: string, archive: Readable) {
  const { ctx, version } = await requireUpload(anyone, token)
  if (version.status !== 'pending')
    throw conflict(`the version ${version.id} is ${version.status}: an archive can be uploaded while it is pending`)
  const problem = await publish(ctx, version, archive)
  if (problem !== undefined) throw invalid(problem)
}

type Commit = {
  setId: string
  commitSha: string
  /** The kind of host, the commit's page, and the repository. */
  ingress: { source: string; commitUrl: string; identifier: string }
}

/**
 * Publishes a version from a commit. Returns why the archive is invalid, which the version then says; null once it is published, and undefined
 * if the set is gone.
 */
export async function publishPolicySetVersion(ctx: Ctx, { setId, commitSha, ingress }: Commit, archive: Readable) {
  const now = ctx.now()
  const id = ctx.newId('polsetver')
  const version = await transact(ctx, async (ctx) => {
    const set = await lockPolicySet(ctx.db, setId)
    if (!set) return undefined
    await store.insertVersion(ctx.db, {
      id,
      policy_set_id: setId,
      status: 'ingressing',
      status_timestamps: JSON.stringify({ pending: now.toISOString(), ingressing: now.toISOString() }),
      source: ingress.source,
      policies_path: policiesDirectory(set.policies_path),
      commit_sha: commitSha,
      commit_url: ingress.commitUrl,
      commit_identifier: ingress.identifier,
      created_at: now,
      updated_at: now,
    })
    const [row] = await store.findVersions(ctx.db, [id])
    return row
  })
  return version && ((await publish(ctx, version, archive)) ?? null)
}

/** Returns why the archive is invalid; undefined once it is published. */
async function publish(ctx: Ctx, version: store.VersionRow, archive: Readable) {
  // Each attempt has its own key: an earlier attempt may have crashed and left a blob.
  const key = `${POLICY_PREFIX}${version.id}/${ctx.newId('upload')}`
  try {
    const { size } = await putArchive(ctx.blobs, key, archive)
    const set = await store.findSet(ctx.db, version.policy_set_id)
    if (!set) throw notFound('upload')
    const directory = policiesDirectory(set.policies_path)
    const { policies, digest } = await readPolicies(ctx, await ctx.blobs.open(key), directory)
    await accept(ctx, version, { policies, changes: { blob_key: key, size, digest, policies_path: directory } })
    return undefined
  } catch (error) {
    if (error instanceof ArchiveError || error instanceof PolicyError) {
      await ctx.blobs.delete(key)
      await fail(ctx, version, error)
      return error.message
    }
    if (isDefinitelyRejected(error)) await ctx.blobs.delete(key)
    throw error
  }
}

type Accepted = {
  policies: readonly store.VersionPolicy[]
  changes: { blob_key: string; size: number; digest: string; policies_path: string }
}

async function accept(ctx: Ctx, version: store.VersionRow, { policies, changes }: Accepted) {
  await transact(ctx, async (ctx) => {
    const now = ctx.now()
    const { id, policy_set_id: setId } = version
    if (!(await lockPolicySet(ctx.db, setId))) throw notFound('upload')
    if ((await store.countPolicies(ctx.db, setId)) > 0)
      throw new PolicyError(`the set ${version.set_name} has policies attached: remove them before it has versions`)
    const from = ['pending', 'ingressing'] as const
    if (!(await store.updateStatus(ctx.db, id, { from, to: 'ready', now, changes })))
      throw conflict(`another archive of the version ${id} was uploaded at the same time`)
    await store.insertPolicies(ctx.db, id, policies)
    await store.setCurrentVersion(ctx.db, { id, setId, now })
    await recordAudit(ctx, versionAudit(version, 'upload', { digest: changes.digest }))
  })
}

async function fail(ctx: Ctx, version: store.VersionRow, error: Error) {
  const code = error instanceof ArchiveError ? 'invalid_archive' : 'invalid_policies'
  await transact(ctx, async (ctx) => {
    const changes = { error: code, error_message: error.message }
    const change = { from: ['pending', 'ingressing'], to: 'errored', now: ctx.now(), changes } as const
    if (await store.updateStatus(ctx.db, version.id, change))
      announce(ctx, { organization: version.organization_id, type: 'policy-sets', id: version.policy_set_id })
  })
}
