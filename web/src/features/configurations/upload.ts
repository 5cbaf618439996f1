import type { configurationVersionSchema } from '@groundstate/contract/configuration-versions'
import type { DocumentOnWire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import { ownPath, putFile, request } from '../../api/client.ts'
import { byteSize } from '../../components/numbers.ts'
import { packArchive } from './archive.ts'
import { MAX_ARCHIVE_BYTES, type Source, SourceError } from './source.ts'

export type UploadStep = { label: string; done: number; total: number | undefined }

type UploadOptions = {
  workspaceId: string
  source: Source
  isPlanOnly: boolean
  message: string
  signal: AbortSignal
  onStep: (step: UploadStep) => void
}

/** Uploads a configuration and creates a run with it. A plan-only run leaves the current configuration of the workspace unchanged. */
export async function uploadAndRun({ workspaceId, source, isPlanOnly, message, signal, onStep }: UploadOptions) {
  onStep({ label: 'Packing files', done: 0, total: undefined })
  const archive = await archiveOf(source)
  const versions = `/workspaces/${workspaceId}/configuration-versions`
  const attributes = { 'auto-queue-runs': false, speculative: isPlanOnly }
  const version = await request<DocumentOnWire<typeof configurationVersionSchema>>(
    'POST',
    versions,
    { data: { type: 'configuration-versions', attributes } },
    signal,
  )
  const url = ownPath(version.data.attributes['upload-url'] ?? '')
  const onProgress = (done: number) => onStep({ label: 'Uploading', done, total: archive.size })
  onProgress(0)
  await putFile(url, archive, { signal, onProgress })
  onStep({ label: 'Creating the run', done: archive.size, total: archive.size })
  const { data } = await request<DocumentOnWire<typeof runSchema>>('POST', '/runs', {
    data: {
      type: 'runs',
      attributes: { message, ...(isPlanOnly && { 'plan-only': true }) },
      relationships: {
        workspace: { data: { type: 'workspaces', id: workspaceId } },
        'configuration-version': { data: { type: 'configuration-versions', id: version.data.id } },
      },
    },
  })
  return data
}

/** The archive to upload. Throws `SourceError` if files have changed, or are too large together. */
export async function archiveOf(source: Source) {
  if (source.kind === 'archive') return source.content
  const { name, content } = source
  const archive = await packArchive(content).catch((cause: unknown) => {
    throw new SourceError(`A file of ${name} was changed or deleted after you selected it. Select it again.`, { cause })
  })
  if (archive.size <= MAX_ARCHIVE_BYTES) return archive
  throw new SourceError(
    `The archive has ${byteSize(archive.size)}: at most ${byteSize(MAX_ARCHIVE_BYTES)} can be uploaded. A .terraformignore file leaves directories out.`,
  )
}
