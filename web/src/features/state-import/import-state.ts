import type { DocumentOnWire } from '@groundstate/contract/responses'
import type { stateVersionSchema } from '@groundstate/contract/state-versions'
import { ownPath, putFile, request } from '../../api/client.ts'
import type { WorkspaceResource } from '../workspaces/workspace.ts'
import type { StateFile } from './state-file.ts'

/** `workspace` is the only target where a page has a workspace. */
export type ImportProps = { organization: string; workspace?: WorkspaceResource; onClose: () => void }

type ImportOptions = {
  workspaceId: string
  state: StateFile
  /** Whether the user holds the lock, which is then kept. */
  holdsLock: boolean
  signal: AbortSignal
  onProgress: (bytes: number) => void
}

/** Stores a state in a workspace under a lock, which is released even after a failure, and returns the version. */
export async function importState({ workspaceId, state, holdsLock, signal, onProgress }: ImportOptions) {
  const act = async (action: string, body = {}) => request('POST', `/workspaces/${workspaceId}/actions/${action}`, body)
  if (!holdsLock) await act('lock', { reason: `importing ${state.file.name}` })
  const uploading = upload(workspaceId, { state, signal, onProgress })
  await Promise.allSettled([uploading])
  if (!holdsLock) {
    // A version whose upload has failed blocks an unlock, but not a forced one, which discards it.
    const unlocking = act('unlock').catch(async () => act('force-unlock'))
    const [{ status }] = await Promise.allSettled([unlocking])
    if (status === 'rejected') {
      await uploading
      throw new Error('the state was imported, but the workspace could not be unlocked: unlock it on its page')
    }
  }
  return uploading
}

type UploadOptions = Pick<ImportOptions, 'state' | 'signal' | 'onProgress'>

async function upload(workspaceId: string, { state, signal, onProgress }: UploadOptions) {
  const { file, md5, serial, lineage } = state
  const body = { data: { type: 'state-versions', attributes: { serial, md5, ...(lineage && { lineage }) } } }
  const path = `/workspaces/${workspaceId}/state-versions`
  const { data } = await request<DocumentOnWire<typeof stateVersionSchema>>('POST', path, body, signal)
  await putFile(ownPath(data.attributes['hosted-state-upload-url'] ?? ''), file, { signal, onProgress })
  return data
}
