import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { BUILTINS } from './builtins.ts'
import { compile, evaluateQuery } from './rego-evaluation.ts'
import { type Module, RegoError, type Value, parseModule, parseQuery } from './rego-parser.ts'
import { printGo, toJson } from './values.ts'

/*
 * A stand-in for the parts of OPA's command line that agents use, after the documentation of `opa eval` and the policy reference. It
 * evaluates a subset of Rego: packages without imports of others, complete rules, defaults, partial sets, `some … in`, `not`, `:=`,
 * comprehensions of arrays and sets, infix operators and the functions of `builtins.ts`. It has neither functions, `with`, `every`, nor
 * numbers that JavaScript rounds, and evaluates statements in their order. Anything else is an error, never a guess.
 */

const VERSION = '1.4.2'

/** An error of the command line, not of policies. */
class UsageError extends Error {}

type Options = { data: string[]; input?: string; capabilities?: string; isV0: boolean; query?: string }

function parseArguments(args: readonly string[]): Options {
  const options: Options = { data: [], isV0: false }
  let format = ''
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? ''
    const [, name = '', attached] = /^(--[\w-]+)(?:=(.*))?$/s.exec(arg) ?? []
    const value = () => attached ?? args[++index] ?? failUsage(`flag needs an argument: ${name}`)
    if (arg === '--') {
      if (args.length !== index + 2) failUsage('specify query argument or --stdin')
      options.query = args[(index += 1)] ?? ''
    } else if (name === '--format') format = value()
    else if (name === '--data') options.data.push(value())
    else if (name === '--input') options.input = value()
    else if (name === '--capabilities') options.capabilities = value()
    else if (arg === '--v0-compatible') options.isV0 = true
    else failUsage(arg.startsWith('-') ? `unknown flag: ${arg}` : 'the stand-in takes a query only after --')
  }
  if (format !== 'json') failUsage(`the stand-in prints JSON only, not "${format}"`)
  return options
}

function failUsage(message: string): never {
  throw new UsageError(message)
}

function evaluate({ data, input, capabilities, isV0, query }: Options) {
  if (query === undefined) return failUsage('specify query argument or --stdin')
  const allowed = new Set(capabilities === undefined ? Object.keys(BUILTINS) : allowedIn(capabilities))
  const files = data.flatMap(filesBelow)
  const modules: Module[] = files
    .filter((file) => file.endsWith('.rego'))
    .map((file) => parseModule(readFileSync(file, 'utf8'), { file, isV0 }))
  const documents = files.filter((file) => file.endsWith('.json')).map((file) => parsed(file, 'file'))
  const term = parseQuery(query)
  compile(modules, new Set([...allowed, ...Object.keys(BUILTINS).filter((name) => !/^[a-z]/.test(name)), 'in']))
  const value = evaluateQuery(term, {
    modules,
    data: Object.assign({}, ...documents) as Value,
    input: input === undefined ? null : parsed(input, 'input'),
  })
  if (value === undefined) return {}
  return { result: [{ expressions: [{ value: toJson(value), text: query, location: { row: 1, col: 1 } }] }] }
}

function allowedIn(file: string): string[] {
  const { builtins } = parsed(file, 'capabilities') as { builtins: { name: string }[] }
  return builtins.map(({ name }) => name)
}

/** Only a file that is named gives data: those in a directory would be below the directory's path. */
function filesBelow(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const below = join(path, entry.name)
    if (entry.isDirectory()) return filesBelow(below)
    if (/\.(?:json|ya?ml)$/.test(entry.name)) failUsage(`the stand-in reads no data of a directory, such as ${below}`)
    return entry.name.endsWith('.rego') ? [below] : []
  })
}

function parsed(file: string, what: string): Value {
  if (statSync(file, { throwIfNoEntry: false }) === undefined)
    throw new (what === 'capabilities' ? UsageError : Error)(`open ${file}: no such file or directory`)
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Value
  } catch (error) {
    throw new Error(`unable to parse ${what}: ${String(error)}`, { cause: error })
  }
}

/** Prints a document in the form of OPA, as one write that is complete before the exit. */
function print(document: unknown) {
  process.stdout.write(`${printGo(document, 2)}\n`)
}

function main([command = '', ...args]: readonly string[]) {
  if (command === 'version' && args.length === 0)
    return process.stdout.write(`Version: ${VERSION}\nBuild Commit: \nRego Version: v1\nWebAssembly: unavailable\n`)
  if (command === 'capabilities' && args.join(' ') === '--current') {
    const names = Object.keys(BUILTINS).filter((name) => /^[a-z]/.test(name) && name !== 'in')
    return print({ builtins: names.toSorted().map((name) => ({ name })), features: ['rego_v1'] })
  }
  if (command === 'eval') return print(evaluate(parseArguments(args)))
  return failUsage(`unknown command "${[command, ...args].join(' ')}" for "opa"`)
}

try {
  main(process.argv.slice(2))
} catch (error) {
  if (error instanceof RegoError) print({ errors: error.errors })
  else process.stderr.write(`Error: ${(error as Error).message}\n`)
  process.exitCode = error instanceof UsageError ? 1 : 2
}
