/**
 * A registry of npm packages. A package in the directory is an archive `<name>.tgz` and its manifest `<name>.json`.
 *
 *     node npm-registry.ts 4873 /tmp/packages
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'

const [port, directory = ''] = process.argv.slice(2)

const packages = readdirSync(directory)
  .filter((file) => file.endsWith('.json'))
  .map((file) => ({
    manifest: JSON.parse(readFileSync(join(directory, file), 'utf8')),
    tarball: `http://127.0.0.1:${port}/-/${file.replace(/json$/, 'tgz')}`,
  }))

createServer((request, response) => {
  const path = decodeURIComponent(request.url ?? '').slice(1)
  if (path.startsWith('-/')) return response.end(readFileSync(join(directory, path.slice(2))))
  const found = packages.find(({ manifest }) => manifest.name === path)
  if (found === undefined) return response.writeHead(404).end('{}')
  const { manifest, tarball } = found
  const versions = { [manifest.version]: { ...manifest, dist: { tarball } } }
  response.setHeader('content-type', 'application/json')
  return response.end(JSON.stringify({ name: path, 'dist-tags': { latest: manifest.version }, versions }))
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('the registry is ready\n'))
