// The server's command line, for a Node that runs TypeScript sources: `groundstate` next to this file finds one.
import module from 'node:module'
import { join } from 'node:path'
import { hasSources, isBundleFresh } from './bundle.mjs'

if (Number(process.versions.node.split('.', 1)[0]) < 24) {
  const remedy = hasSources()
    ? 'run npm ci here, which brings one'
    : 'install it, or on Linux reinstall the package with its optional dependencies, which bring one'
  process.stderr.write(`groundstate: Node.js 24 or later is needed, this is ${process.version}: ${remedy}\n`)
  process.exit(1)
}

// Saves a third of the time to start. Among the dependencies, where no one else may write, unlike in a shared /tmp.
module.enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/groundstate'))
await import(hasSources() && !isBundleFresh() ? '../src/main.ts' : '../dist/main.js')
