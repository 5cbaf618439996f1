type Body<Name extends string> = {
  attributes: { [Attribute in `${Name}-id`]?: string | null | undefined }
  relationships: { [Relationship in Name]?: { data: { id: string } | null } | undefined }
}

/**
 * The agent pool that a body names, null to take it away, and where it does so: in the attribute `<name>-id`, or in the
 * relationship `<name>`, as newer clients do.
 */
export function namedPool<Name extends string>({ attributes, relationships }: Body<Name>, name: Name) {
  const attribute = `${name}-id` as const
  const { [attribute]: poolId } = attributes
  const { [name]: related } = relationships
  if (related === undefined || poolId)
    return { poolId: poolId === '' ? null : poolId, pointer: `/data/attributes/${attribute}` }
  return { poolId: related.data?.id ?? null, pointer: `/data/relationships/${name}` }
}
