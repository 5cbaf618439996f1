import { z } from 'zod'
import { type Written, nullable, resource } from './responses.ts'

const text = z.string()

const inputSchema = z.strictObject({
  name: text,
  type: nullable.string.describe('as written; null for any type'),
  description: nullable.string,
  default: nullable.string.describe('as JSON; null for a required input, and for a sensitive one'),
  required: z.boolean(),
  sensitive: z.boolean(),
})
export type ModuleInput = Written<typeof inputSchema>

const outputSchema = z.strictObject({ name: text, description: nullable.string, sensitive: z.boolean() })
const dependencySchema = z.strictObject({ name: text, source: text, version: nullable.string })

/** A module of an archive: its root, a directory of `modules/` or one of `examples/`. */
export const documentedModuleSchema = z.strictObject({
  path: text.describe('empty for the root'),
  kind: z.enum(['root', 'submodule', 'example']),
  readme: z.strictObject({ path: text, markdown: text, 'is-cut': z.boolean() }).nullable(),
  'required-version': nullable.string,
  inputs: z.array(inputSchema),
  outputs: z.array(outputSchema),
  providers: z.array(dependencySchema).describe('`required_providers`, and those that only resources name'),
  dependencies: z.array(dependencySchema).describe('the modules that it calls'),
  resources: z.array(z.strictObject({ type: text, name: text, mode: z.enum(['managed', 'data', 'ephemeral']) })),
})
export type DocumentedModule = Written<typeof documentedModuleSchema>

/** Our own: what the archive of a version says about its modules. */
export const moduleDocumentsSchema = resource('registry-module-documents', {
  attributes: {
    status: z.enum(['pending', 'ready']).describe('`pending` until the archive has been read'),
    modules: z.array(documentedModuleSchema).describe('the root first'),
    problems: z
      .array(z.strictObject({ path: text.describe('the file; empty for the whole archive'), message: text }))
      .describe('files that could not be read'),
    'read-at': nullable.time,
  },
})
export type ModuleDocumentsResource = Written<typeof moduleDocumentsSchema>
export type ModuleDocuments = { modules: DocumentedModule[]; problems: { path: string; message: string }[] }
