import { isObject, isWideNumber } from '@groundstate/contract/exact-json'

const SENSITIVE = '(sensitive value)'
/** Shorter texts are replaced only where they are whole words: `a` would be in every sentence. */
const MIN_PART = 4

type Secrets = Set<string>

/** The sensitive values of a plan's JSON, as texts: those that its marks cover, and sensitive variables and outputs. Booleans are left out. */
export function sensitiveValues(input: unknown): Secrets {
  const secrets: Secrets = new Set()
  const open: unknown[] = [input]
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (!isObject(value)) continue
    for (const [key, item] of Object.entries(value)) {
      if (isObject(item)) open.push(item)
      addMarked(item, value[`${key}_sensitive`], secrets)
    }
    addMarked(value['values'], value['sensitive_values'], secrets)
    addMarked(value['config_values'], value['config_sensitive'], secrets)
    if (value['sensitive'] === true) addMarked(value['value'], true, secrets)
    addVariables(value, secrets)
  }
  return secrets
}

/** The values of the root module's variables, which the configuration marks. */
function addVariables({ variables, configuration }: Record<string, unknown>, secrets: Secrets) {
  const root = isObject(configuration) ? configuration['root_module'] : undefined
  const declared = isObject(root) ? root['variables'] : undefined
  if (!isObject(variables) || !isObject(declared)) return
  for (const [name, declaration] of Object.entries(declared)) {
    const variable = variables[name]
    const isSensitive = isObject(declaration) && declaration['sensitive'] === true
    if (isSensitive && isObject(variable)) addMarked(variable['value'], true, secrets)
    if (isSensitive && isObject(declaration)) addMarked(declaration['default'], true, secrets)
  }
}

/** Marks are `true` for a value as a whole, or have the shape of the value. */
function addMarked(value: unknown, marks: unknown, secrets: Secrets) {
  const open: [unknown, unknown][] = [[value, marks]]
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const [item, mark] = pair
    if (mark !== true && !isObject(mark)) continue
    if (isObject(item)) {
      for (const [key, one] of Object.entries(item)) open.push([one, mark === true ? true : mark[key]])
    } else if (mark !== true) continue
    else if (typeof item === 'string') secrets.add(item)
    else if (typeof item === 'number') secrets.add(String(item))
    else if (isWideNumber(item)) secrets.add(item.digits)
  }
}

/** Returns a function that replaces the texts, also those that JSON escapes, wherever they are part of another one. */
export function redactor(secrets: Iterable<string>): (text: string) => string {
  const all = new Set<string>()
  for (const secret of secrets) {
    if (secret.trim() === '') continue
    const quoted = JSON.stringify(secret).slice(1, -1)
    // Go's JSON escapes these characters, which a policy may print with json.marshal.
    const ofGo = quoted.replaceAll(
      /[<>&\u2028\u2029]/g,
      (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
    )
    for (const form of [secret, secret.trim(), quoted, ofGo]) all.add(form)
    // A policy may print single lines of a key or certificate.
    for (const line of secret.split('\n')) if (secret.includes('\n') && line.trim().length >= 8) all.add(line.trim())
  }
  // A secret may contain another one.
  const ordered = [...all].toSorted((a, b) => b.length - a.length)
  return (text) => ordered.reduce(without, text)
}

function without(text: string, secret: string): string {
  if (!text.includes(secret)) return text
  if (secret.length >= MIN_PART && !/^-?[\d.]+$/.test(secret)) return text.replaceAll(secret, SENSITIVE)
  const pattern = secret.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`)
  return text.replaceAll(new RegExp(`(?<![\\w.])${pattern}(?![\\w])`, 'g'), SENSITIVE)
}
