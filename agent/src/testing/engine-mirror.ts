import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { arch, platform } from 'node:os'
import { crc32, deflateRawSync } from 'node:zlib'
import { createMessage, generateKey, readPrivateKey, sign } from 'openpgp'
import { onTestFinished } from 'vitest'
import type { Product } from '../engine/engine-keys.ts'

/** A key pair that signs the releases of a mirror. */
export async function createSigner() {
  const { privateKey, publicKey } = await generateKey({
    type: 'rsa',
    rsaBits: 2048,
    userIDs: [{ name: 'a mirror', email: 'mirror@example.com' }],
  })
  const signingKeys = await readPrivateKey({ armoredKey: privateKey })
  return {
    publicKey,
    async sign(bytes: Uint8Array): Promise<Uint8Array> {
      const message = await createMessage({ binary: new Uint8Array(bytes) })
      return (await sign({ message, signingKeys, detached: true, format: 'binary' })) as Uint8Array
    },
  }
}

type Signer = Awaited<ReturnType<typeof createSigner>>

/** A mirror with the layout of the official ones. `files` may be changed; `requests` has the requested paths. */
export async function startMirror() {
  const files = new Map<string, Uint8Array | string>()
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    const content = files.get(request.url ?? '')
    if (content === undefined) response.writeHead(404).end('not found')
    else response.end(content)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const versions = { terraform: [] as string[], tofu: [] as string[] }

  /** Publishes a version whose binary is a script that prints the version. */
  async function publish(product: Product, version: string, signer: Signer) {
    const name = product === 'tofu' ? 'OpenTofu' : 'Terraform'
    const script = `#!/bin/sh\nprintf '${name} v${version}\\non linux_amd64\\n'\n`
    const directory = product === 'tofu' ? `/v${version}` : `/terraform/${version}`
    const archiveName = `${product}_${version}_${platform()}_${arch() === 'x64' ? 'amd64' : arch()}.zip`
    const archive = zipOf({ 'LICENSE.txt': 'a licence', [product]: script })
    const sums = Buffer.from(
      `${'0'.repeat(64)}  ${product}_${version}_plan9_mips.zip\n${createHash('sha256').update(archive).digest('hex')}  ${archiveName}\n`,
    )
    const paths = {
      archive: `${directory}/${archiveName}`,
      sums: `${directory}/${product}_${version}_SHA256SUMS`,
      signature: `${directory}/${product}_${version}_SHA256SUMS.${product === 'tofu' ? 'gpgsig' : 'sig'}`,
    }
    files
      .set(paths.archive, archive)
      .set(paths.sums, sums)
      .set(paths.signature, await signer.sign(sums))
    versions[product].push(version)
    files.set(
      '/terraform/index.json',
      JSON.stringify({ versions: Object.fromEntries(versions.terraform.map((one) => [one, {}])) }),
    )
    files.set('/api.json', JSON.stringify({ versions: versions.tofu.map((id) => ({ id, files: [] })) }))
    return paths
  }

  return { url: `http://127.0.0.1:${port}`, files, requests, publish }
}

/** A zip archive of text files. */
export function zipOf(files: Record<string, string>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, text] of Object.entries(files)) {
    const content = Buffer.from(text)
    const packed = deflateRawSync(content)
    const facts = Buffer.alloc(26)
    facts.writeUInt16LE(20, 0)
    facts.writeUInt16LE(8, 4)
    facts.writeUInt32LE(crc32(content), 10)
    facts.writeUInt32LE(packed.length, 14)
    facts.writeUInt32LE(content.length, 18)
    facts.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), facts, Buffer.from(name), packed])
    const where = Buffer.alloc(14)
    where.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000'), facts, where, Buffer.from(name)]))
    parts.push(local)
    offset += local.length
  }
  const listing = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(directory.length, 4)
  end.writeUInt16LE(directory.length, 6)
  end.writeUInt32LE(listing.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...parts, listing, Buffer.from('PK\u0005\u0006'), end])
}
