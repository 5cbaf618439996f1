import type { DocumentedModule } from './registry.ts'

type ModuleLines = {
  host: string
  organization: string
  name: string
  provider: string
  version: string
  /** The module whose inputs are required; undefined until its documents are known. */
  module: DocumentedModule | undefined
}

/** The block that calls a module of the registry, with its required inputs as comments to complete. */
export function moduleBlock({ host, organization, name, provider, version, module }: ModuleLines) {
  const directory = module === undefined || module.path === '' ? '' : `//${module.path}`
  const required = (module?.inputs ?? []).filter((input) => input.required)
  const width = Math.max(0, ...required.map((input) => input.name.length))
  const inputs = required.map((input) => `  ${input.name.padEnd(width)} = null # ${typeLine(input.type)}`)
  return [
    `module "${name}" {`,
    `  source  = "${host}/${organization}/${name}/${provider}${directory}"`,
    `  version = "${version}"`,
    ...(inputs.length === 0 ? [] : ['', ...inputs]),
    '}',
  ].join('\n')
}

const MAX_TYPE = 60

/** The type of an input in one line, for a comment. */
function typeLine(type: string | null) {
  const line = (type ?? 'any').replaceAll(/\s+/g, ' ')
  return line.length > MAX_TYPE ? `${line.slice(0, MAX_TYPE)}…` : line
}

type ProviderLines = { host: string; organization: string; name: string; version: string }

export function providerBlock({ host, organization, name, version }: ProviderLines) {
  return `terraform {
  required_providers {
    ${name} = {
      source  = "${host}/${organization}/${name}"
      version = "${version}"
    }
  }
}`
}
