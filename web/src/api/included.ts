type Identifier = { id: string; type: string }
type Related = { data?: Identifier | null | readonly Identifier[] } | undefined

/** Finds the included resources of a document by the relations that name them. */
export function includedOf<Resource extends Identifier>(document: { included?: readonly Resource[] | undefined }) {
  const byId = new Map((document.included ?? []).map((resource) => [`${resource.type} ${resource.id}`, resource]))
  type OfType<Type extends string> = Extract<Resource, { type: Type }>
  const find = <Type extends Resource['type']>(type: Type, identifier: Identifier | null | undefined) =>
    identifier?.type === type ? (byId.get(`${type} ${identifier.id}`) as OfType<Type> | undefined) : undefined
  return {
    /** The resource of a relation to one; undefined when there is none or it was not included. */
    one<Type extends Resource['type']>(type: Type, related: Related) {
      const data = related?.data
      return find(type, data !== undefined && data !== null && 'id' in data ? data : undefined)
    },
    /** The resources of a relation to many, in their order. */
    many<Type extends Resource['type']>(type: Type, related: Related) {
      const data = related?.data
      const list = Array.isArray(data) ? (data as readonly Identifier[]) : []
      return list.map((identifier) => find(type, identifier)).filter((found) => found !== undefined)
    },
  }
}
