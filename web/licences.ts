import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

const MODULE = 'virtual:licences'
const ROOT = join(import.meta.dirname, '..')

type Locked = { version?: string; license?: string; dev?: boolean; link?: boolean }

/** Provides the licences of all packages that the server and the web UI contain, from the lock file and the installed packages. */
export function licences(): Plugin {
  return {
    name: 'groundstate-licences',
    resolveId: (id) => (id === MODULE ? `\0${MODULE}` : undefined),
    load: (id) => (id === `\0${MODULE}` ? `export default JSON.parse(${JSON.stringify(content())})` : undefined),
  }
}

/** Equal texts are stored once. */
function content() {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, Locked> }
  const texts: string[] = []
  const found = new Map<string, { id: string; name: string; version: string; licence: string; text: number | null }>()
  for (const [path, { version = '', license: licence = 'unknown', dev, link }] of Object.entries(lock.packages)) {
    const name = path.split('node_modules/').at(-1) ?? ''
    if (!path.startsWith('node_modules/') || dev || link || name.startsWith('@groundstate/')) continue
    const text = textOf(join(ROOT, path))
    // Packages for other platforms are not installed, nor are they distributed.
    if (text === undefined) continue
    if (text !== null && !texts.includes(text)) texts.push(text)
    const id = `${name} ${version}`
    found.set(id, { id, name, version, licence, text: text === null ? null : texts.indexOf(text) })
  }
  const packages = [...found.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return JSON.stringify({ packages, texts })
}

/** The text in a package; null if it has none, undefined if the package is not installed. */
function textOf(directory: string) {
  try {
    const file = readdirSync(directory).find((name) => /^(?:licen[cs]e|copying)/i.test(name))
    return file === undefined ? null : readFileSync(join(directory, file), 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
