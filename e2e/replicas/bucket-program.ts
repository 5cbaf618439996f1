/**
 * An S3-compatible store that keeps its objects in a directory, so that a kill loses nothing that it acknowledged.
 *
 *     node bucket-program.ts 9000 /tmp/objects
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deserialize, serialize } from 'node:v8'
import { createS3Server, type StoredObject } from '../../server/src/blobs/testing/s3-server.ts'

/** Written before it is visible: neither may an object vanish that a client has seen. */
class KeptObjects extends Map<string, StoredObject> {
  readonly #directory: string

  constructor(directory: string) {
    super()
    mkdirSync(directory, { recursive: true })
    for (const name of readdirSync(directory)) {
      if (name.endsWith('.part')) continue
      super.set(decodeURIComponent(name), deserialize(readFileSync(join(directory, name))))
    }
    this.#directory = directory
  }

  override set(key: string, object: StoredObject) {
    const path = join(this.#directory, encodeURIComponent(key))
    writeFileSync(`${path}.part`, serialize(object))
    renameSync(`${path}.part`, path)
    return super.set(key, object)
  }

  override delete(key: string) {
    rmSync(join(this.#directory, encodeURIComponent(key)), { force: true })
    return super.delete(key)
  }
}

const [port, directory = ''] = process.argv.slice(2)
await createS3Server({ port: Number(port), objects: new KeptObjects(directory) })
process.stdout.write('the bucket is ready\n')
