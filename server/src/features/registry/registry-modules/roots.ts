import type { DocumentedModule, ModuleDocuments } from '@groundstate/contract/module-documents'
import type { ModuleRoot } from '@groundstate/contract/registry-modules'

/** The documented modules of a kind, as the registry protocol describes them. */
export function moduleRoots(
  documents: ModuleDocuments | undefined,
  name: string,
  kind: DocumentedModule['kind'],
): ModuleRoot[] {
  const found = (documents?.modules ?? []).filter((module) => module.kind === kind)
  return found.map((module) => rootOf(module, name))
}

function rootOf(module: DocumentedModule, name: string): ModuleRoot {
  const { path, readme, inputs, outputs, providers, resources } = module
  return {
    path,
    name: path === '' ? name : path.slice(path.lastIndexOf('/') + 1),
    readme: readme?.markdown ?? '',
    empty: inputs.length + outputs.length + resources.length + module.dependencies.length === 0,
    inputs: inputs.map((input) => ({
      name: input.name,
      type: input.type ?? 'any',
      description: input.description ?? '',
      default: input.default ?? '',
      required: input.required,
    })),
    outputs: outputs.map((output) => ({ name: output.name, description: output.description ?? '' })),
    provider_dependencies: providers.map((provider) => ({
      name: provider.name,
      namespace: provider.source.split('/').at(-2) ?? '',
      source: provider.source,
      version: provider.version ?? '',
    })),
    dependencies: module.dependencies.map(({ name, source, version }) => ({ name, source, version: version ?? '' })),
    resources: resources.filter(({ mode }) => mode === 'managed').map(({ name, type }) => ({ name, type })),
  }
}
