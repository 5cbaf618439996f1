/** A version constraint in the engines' syntax: `>= 1.8, != 1.9.1, < 2.0` or `~> 1.9.0`. */
export type VersionConstraint = { text: string; meets: (version: string) => boolean }

const PART = /^(=|!=|>=|<=|>|<|~>)?\s*v?(\d+(?:\.\d+){0,2})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/

type Version = { numbers: number[]; pre: string | undefined }
type Condition = Version & { operator: string; depth: number }

const CHECKS: Record<string, (order: number, version: Version, condition: Condition) => boolean> = {
  '=': (order) => order === 0,
  '!=': (order) => order !== 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  // Only the last component of the condition may increase.
  '~>': (order, version, { numbers, depth }) =>
    order >= 0 && numbers.slice(0, Math.max(0, depth - 1)).every((number, index) => version.numbers[index] === number),
}

/** Returns undefined for an invalid constraint. A pre-release meets only a constraint that names a pre-release of the same version. */
export function parseConstraint(text: string): VersionConstraint | undefined {
  const parts = text.split(',')
  const conditions = parts.map((part) => parseCondition(part.trim())).filter((condition) => condition !== undefined)
  if (conditions.length < parts.length) return undefined
  return {
    text,
    meets(version) {
      const parsed = parseVersion(version)
      return parsed !== undefined && conditions.every((condition) => isMet(condition, version, parsed))
    },
  }
}

function parseCondition(text: string): Condition | undefined {
  const match = PART.exec(text)
  if (match === null) return undefined
  const [, operator = '=', core = '', pre] = match
  const numbers = core.split('.').map(Number)
  return { operator, depth: numbers.length, numbers: [...numbers, 0, 0].slice(0, 3), pre }
}

function parseVersion(text: string): Version | undefined {
  const match = /^v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?$/.exec(text)
  return match === null ? undefined : { numbers: match.slice(1, 4).map(Number), pre: match[4] }
}

function isMet(condition: Condition, text: string, version: Version): boolean {
  const required = `${condition.numbers.join('.')}${condition.pre === undefined ? '' : `-${condition.pre}`}`
  const sameRelease = condition.numbers.every((number, index) => version.numbers[index] === number)
  if (version.pre !== undefined && !(condition.pre !== undefined && sameRelease)) return false
  return CHECKS[condition.operator]?.(compareVersions(text, required), version, condition) ?? false
}

/** Numeric order; a pre-release precedes its release. */
export function compareVersions(a: string, b: string): number {
  const [aCore, aPre] = split(a)
  const [bCore, bPre] = split(b)
  const order = aCore.localeCompare(bCore, 'en', { numeric: true })
  if (order !== 0) return order
  if (aPre === undefined || bPre === undefined) return Number(bPre !== undefined) - Number(aPre !== undefined)
  return aPre.localeCompare(bPre, 'en', { numeric: true })
}

/** The numbers and the pre-release. Build metadata does not affect the order. */
function split(version: string): [string, string | undefined] {
  const [plain = ''] = version.replace(/^v/, '').split('+', 1)
  const dash = plain.indexOf('-')
  return dash < 0 ? [plain, undefined] : [plain.slice(0, dash), plain.slice(dash + 1)]
}
