import { stateVersionSchema } from '@groundstate/contract/state-versions'
import { workspaceSchema } from '@groundstate/contract/workspaces'
import { z } from 'zod'
import { RequestRejectedError, type ServerAccess, publicApi } from './public-api.ts'
import { checkpoint } from './state-checkpoint.ts'
import { WorkspaceSkippedError } from './state-missing-versions.ts'
import type { StateSource, StateTarget, TransferredVersion } from './state-source-and-target.ts'

export type StateServerOptions = ServerAccess & {
  organization: string
  /** For a target: the file that records the progress. */
  checkpointFile?: string | undefined
}

/** Lock reason, which distinguishes an import's lock from other locks of the same user. */
const LOCK_REASON = 'import of states'

// Only the attributes that a transfer needs. Other servers may omit attributes that ours always sends, or set them to null.
const { name, 'locked-reason': lockedReason } = workspaceSchema.shape.attributes.shape
const holder = workspaceSchema.shape.relationships.shape['locked-by'].shape.data.unwrap().pick({ id: true }).strip()
const workspaceResource = z.object({
  id: z.string(),
  attributes: z.object({ name, 'locked-reason': lockedReason.optional() }),
  relationships: z.object({ 'locked-by': z.object({ data: holder.nullish() }).optional() }).optional(),
})
const { serial, size, intermediate, ...version } = stateVersionSchema.shape.attributes.shape
const versionResource = z.object({
  id: z.string(),
  attributes: z.object({
    serial,
    'created-at': z.string(),
    size: size.nullish(),
    intermediate: intermediate.nullish(),
    'hosted-state-download-url': version['hosted-state-download-url'].optional(),
    'hosted-json-state-download-url': version['hosted-json-state-download-url'].optional(),
    'hosted-state-upload-url': version['hosted-state-upload-url'].optional(),
    'hosted-json-state-upload-url': version['hosted-json-state-upload-url'].optional(),
  }),
})
const account = z.object({ id: z.string() })

/** The states of an organization on a server, through the public API only. */
export function stateServer(options: StateServerOptions): StateSource & StateTarget {
  const api = publicApi(options)
  const organization = encodeURIComponent(options.organization)
  const workspacesPath = `/organizations/${organization}/workspaces`

  return {
    async check() {
      try {
        await api.one(account, 'GET', '/account/details')
        await api.request('GET', `/organizations/${organization}`)
      } catch (error) {
        if (!(error instanceof RequestRejectedError)) throw error
        if (error.status === 401) throw new Error(`${options.url} doesn't know the token`, { cause: error })
        if (error.status !== 404) throw error
        const reason = `${options.url} has no organization ${options.organization} that the token may read`
        throw new Error(reason, { cause: error })
      }
    },

    async listWorkspaces() {
      return (await api.all(workspaceResource, workspacesPath)).map((workspace) => workspace.attributes.name)
    },

    listVersions,

    async readContent(_, version) {
      // Requested on demand, since signed URLs expire after minutes.
      const { attributes } = await api.one(versionResource, 'GET', `/state-versions/${version.id}`)
      const jsonUrl = attributes['hosted-json-state-download-url'] ?? undefined
      const raw = await downloadRaw(version.id, attributes['hosted-state-download-url'])
      return { raw, json: jsonUrl === undefined ? undefined : await api.download(jsonUrl) }
    },

    async prepare(workspace) {
      const { id: workspaceId } = await findOrCreateWorkspace(workspace)
      const isOurLock = await lock(workspaceId)
      const release = async () => {
        if (isOurLock) await api.request('POST', `/workspaces/${workspaceId}/actions/unlock`)
      }
      const { arrived, present, begin, finish } = await readVersions(workspace).catch(async (error: unknown) => {
        await release()
        throw error
      })
      return {
        arrived,
        present,
        release,
        write: async (version, content) => {
          const { serial, md5, lineage } = version
          // `force`, since serials of a history may decrease, and its lineage may change.
          const requested = { serial, md5, ...(lineage !== null && { lineage }), force: true }
          const body = { data: { type: 'state-versions', attributes: requested } }
          const path = `/workspaces/${workspaceId}/state-versions`
          const { id, attributes } = await api.one(versionResource, 'POST', path, body)
          const rawUrl = attributes['hosted-state-upload-url']
          const jsonUrl = attributes['hosted-json-state-upload-url']
          await begin(version.id, id)
          // The JSON state first, since the upload of the raw state finalizes the version.
          if (jsonUrl && content.json) await api.upload(jsonUrl, content.json)
          if (rawUrl) await api.upload(rawUrl, content.raw)
          await finish(version.id)
        },
      }
    },
  }

  async function listVersions(workspace: string): Promise<TransferredVersion[]> {
    const filter =
      `filter%5Borganization%5D%5Bname%5D=${organization}` +
      `&filter%5Bworkspace%5D%5Bname%5D=${encodeURIComponent(workspace)}&filter%5Bstatus%5D=finalized`
    const versions = await api.all(versionResource, `/state-versions?${filter}`)
    return versions.toReversed().map(({ id, attributes }) => ({
      id,
      serial: attributes.serial,
      createdAt: attributes['created-at'],
      size: attributes.size ?? 0,
      intermediate: attributes.intermediate ?? false,
      md5: '',
      lineage: null,
      hasJson: false,
    }))
  }

  async function downloadRaw(id: string, url: string | null | undefined) {
    const raw = url ? await api.download(url) : undefined
    if (!raw) throw new Error(`the content of ${id} was deleted`)
    return raw
  }

  async function readRaw({ id }: TransferredVersion) {
    const { attributes } = await api.one(versionResource, 'GET', `/state-versions/${id}`)
    return downloadRaw(id, attributes['hosted-state-download-url'])
  }

  /** Locks a workspace; returns false if our user already locked it for another reason. Throws `WorkspaceSkippedError`. */
  async function lock(id: string): Promise<boolean> {
    try {
      await api.request('POST', `/workspaces/${id}/actions/lock`, { reason: LOCK_REASON })
      return true
    } catch (error) {
      if (!(error instanceof RequestRejectedError)) throw error
      const holder = error.status === 409 ? await lockOf(id) : undefined
      // An interrupted transfer leaves its lock.
      if (holder?.isUs) return holder.reason === LOCK_REASON
      throw new WorkspaceSkippedError(`it can't be locked: ${error.message}`, { cause: error })
    }
  }

  async function readVersions(workspace: string) {
    const versions = await listVersions(workspace)
    const isFinalized = (id: string) => versions.some((version) => version.id === id)
    const recorded = await checkpoint(options.checkpointFile, workspace, isFinalized)
    return { ...recorded, present: { versions, readRaw } }
  }

  async function findOrCreateWorkspace(name: string): Promise<z.infer<typeof workspaceResource>> {
    try {
      return await api.one(workspaceResource, 'GET', `${workspacesPath}/${encodeURIComponent(name)}`)
    } catch (error) {
      if (!(error instanceof RequestRejectedError) || error.status !== 404) throw error
      const body = { data: { type: 'workspaces', attributes: { name } } }
      return api.one(workspaceResource, 'POST', workspacesPath, body)
    }
  }

  async function lockOf(id: string) {
    const [us, workspace] = await Promise.all([
      api.one(account, 'GET', '/account/details'),
      api.one(workspaceResource, 'GET', `/workspaces/${id}`),
    ])
    return {
      isUs: workspace.relationships?.['locked-by']?.data?.id === us.id,
      reason: workspace.attributes['locked-reason'],
    }
  }
}
