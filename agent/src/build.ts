import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../package.json' with { type: 'json' }

/** The commit and the time of a package, which scripts/bundle.mjs defines. Null in other bundles; undefined in sources. */
declare const GROUNDSTATE_BUILD: { commit: string; time: string } | null | undefined

/** The version, which the server and the agent share. */
export const VERSION = manifest.version

/** The abbreviated commit and the time of the build, in ISO 8601; null in a clone. */
export const BUILD = typeof GROUNDSTATE_BUILD === 'undefined' ? null : (GROUNDSTATE_BUILD ?? null)

/** The line that `--version` prints. `program` is the command that users type. */
export function versionLine(program: string): string {
  const origin = BUILD ? [`commit ${BUILD.commit}`, `built ${BUILD.time}`] : [...commitOfClone(), 'from source']
  return `${program} ${VERSION} (${[...origin, `node ${process.versions.node}`].join(', ')})\n`
}

function commitOfClone() {
  const root = join(import.meta.dirname, '../..')
  // A package that a clone has built may be installed below another repository.
  if (!existsSync(join(root, '.git')) || !existsSync(join(root, 'agent/src/build.ts'))) return []
  try {
    const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return [`commit ${commit.trim()}`]
  } catch {
    // Git is missing, or refuses the repository of another user.
    return []
  }
}
