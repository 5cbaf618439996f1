declare const context: unique symbol

/**
 * Names the place of sealed bytes, such as `variables/var-abc/value`; they open nowhere else. Only the functions of this file create contexts, so
 * that everything that is sealed and stored is declared, and replacing the secret reaches it.
 */
export type SealContext = string & { readonly [context]: true }

/** A column of sealed bytes. `by` has the columns of the row from which the context is made. */
export type SealedColumn = {
  table: string
  column: string
  by: readonly string[]
  /** Framed like blobs (`Blobs.sealBuffer`); otherwise sealed by `Secrets.seal`. */
  isBlob: boolean
  contextOf: (row: Readonly<Record<string, string | null>>) => SealContext
}

/** A property of the data of background jobs that is sealed, in base64. */
export type SealedJobProperty = {
  job: string
  property: string
  contextOf: (data: Readonly<Record<string, unknown>>) => SealContext
}

type Declared<By extends string, Value> = { context: (row: Record<By, Value>) => SealContext }

/** Declares a column, named `table.column`. `features/sealed.ts` lists all of them. */
export function sealedColumn<const By extends string>(
  name: `${string}.${string}`,
  by: readonly By[],
  contextOf: (row: Record<By, string>) => string,
): SealedColumn & Declared<By, string> {
  return declared(name, by, { contextOf: contextOf as SealedColumn['contextOf'], isBlob: false })
}

/** As `sealedColumn`, for bytes that are framed like blobs. The context is the key of the blob. */
export function sealedBlobColumn<const By extends string>(
  name: `${string}.${string}`,
  by: readonly By[],
  contextOf: (row: Record<By, string | null>) => string,
): SealedColumn & Declared<By, string | null> {
  return declared(name, by, { contextOf: contextOf as SealedColumn['contextOf'], isBlob: true })
}

function declared<By extends string>(
  name: string,
  by: readonly By[],
  rest: Pick<SealedColumn, 'contextOf' | 'isBlob'>,
) {
  const [table = '', column = ''] = name.split('.')
  return { table, column, by, ...rest, context: (row: Record<By, string | null>) => rest.contextOf(row) }
}

/** Declares a property of the data of a job. `features/sealed.ts` lists all of them. */
export function sealedJobProperty<Data extends object>(
  job: { name: string },
  property: string,
  contextOf: (data: Data) => string,
): SealedJobProperty & { context: (data: Data) => SealContext } {
  const typed = contextOf as (data: object) => SealContext
  return { job: job.name, property, contextOf: typed, context: typed }
}

/** The context of bytes that are not stored here, such as a cookie, and expire long before the secret that sealed them is removed. */
export function shortLivedContext(name: string): SealContext {
  return name as SealContext
}
