import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { StartError } from '../start-error.ts'
import type { S3Config } from './s3-requests.ts'

/** Location of an installation's blobs. */
export type BlobStore = { kind: 'disk'; root: string } | ({ kind: 's3' } & S3Config)

/** The blob store that the settings name. Throws a `StartError` when they name it in part. */
export function storeOf(config: Config): BlobStore {
  if (config.s3Bucket === undefined) return { kind: 'disk', root: join(config.dataDir, 'blobs') }
  const { s3Endpoint: endpoint, s3AccessKeyId: accessKeyId, s3SecretAccessKey: secretAccessKey } = config
  if (endpoint === undefined || accessKeyId === undefined || secretAccessKey === undefined) {
    throw new StartError(
      'GROUNDSTATE_S3_BUCKET is set: GROUNDSTATE_S3_ENDPOINT, GROUNDSTATE_S3_ACCESS_KEY_ID and GROUNDSTATE_S3_SECRET_ACCESS_KEY must be too',
    )
  }
  const { s3Bucket: bucket, s3Region: region, s3Prefix: prefix } = config
  return { kind: 's3', bucket, endpoint, region, prefix, accessKeyId, secretAccessKey }
}

/** The place of a blob store, for people. */
export function placeOf(store: BlobStore) {
  if (store.kind === 'disk') return `the directory ${store.root} of ${hostname()}`
  const { endpoint, bucket, prefix = '' } = store
  return `the bucket ${bucket} at ${endpoint}${prefix === '' ? '' : `, prefix ${prefix}`}`
}
