// The agent's command line from a clone: the sources with a Node that runs TypeScript, otherwise the package built by
// `npm run build:agent`.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const built = join(dirname(fileURLToPath(import.meta.url)), '../dist/package/groundstate-agent.js')
const isNew = Number(process.versions.node.split('.', 1)[0]) >= 24

if (isNew) {
  await import('../src/main.ts')
} else if (existsSync(built)) {
  await import(pathToFileURL(built).href)
} else {
  process.stderr.write(
    `groundstate-agent: a clone needs Node.js 24, this is ${process.version}. Build the package with npm run build:agent, or ` +
      'install that of your server: npm install -g https://<server>/agent/groundstate-agent.tgz\n',
  )
  process.exitCode = 1
}
