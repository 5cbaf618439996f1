import type { Readable } from 'node:stream'
import type { Routes } from '../../../http/http.ts'
import { binary, bytes, unstored } from '../../../http/responses.ts'
import { OBJECT_PATH } from './content-urls.ts'
import { downloadContent } from './download.ts'
import { MAX_CONTENT_BYTES, uploadContent } from './upload.ts'

const OCTETS = 'application/octet-stream'

const upload = {
  summary: 'Upload the content of a state version',
  access: 'signed',
  audit: 'state_version upload',
  responses: { 200: null },
  prefix: '',
  upload: true,
  maxBytes: MAX_CONTENT_BYTES,
} as const

const download = {
  summary: 'Download the content of a state version',
  responses: { 200: binary(OCTETS) },
  access: 'signed',
  prefix: '',
} as const

/** The routes behind signed URLs, which need no token. */
export const stateContentRoutes: Routes = (http) => {
  http.put(`${OBJECT_PATH}/:objectId`, upload, async (req) => {
    const length = req.header('content-length')
    await uploadContent(req.ctx, req.params.objectId, {
      body: req.raw.body as Readable,
      declaredBytes: length === undefined ? undefined : Number(length),
    })
    return { status: 200 }
  })

  http.get(`${OBJECT_PATH}/:objectId`, download, async (req) => {
    const { content, size } = await downloadContent(req.ctx, req.params.objectId)
    // A state holds secrets, and no cached copy may be readable after a soft delete.
    return unstored(bytes(content, OCTETS, size))
  })
}
