import { z } from 'zod'
import { boundedList, requestBody, resourceId } from './json-api.ts'
import { TAG_MAX, TAG_RULE, TAG_TEXT } from './limits.ts'
import { type Written, hasOne, resource, timestamp } from './responses.ts'

export const tagKey = z
  .string()
  .min(1, { error: "tag key can't be blank", abort: true })
  .max(TAG_MAX)
  .regex(TAG_TEXT, `tag key ${TAG_RULE}`)
  .regex(/^\S(.*\S)?$/, 'tag key must not begin or end with a space')

/** A tag with a key and a value. A key alone is a flat tag of the older interface. */
const tagBinding = z.object({
  key: tagKey,
  value: z
    .string()
    .max(TAG_MAX)
    .regex(TAG_TEXT, `tag value ${TAG_RULE}`)
    .nullish()
    .transform((value) => value ?? ''),
})
export type TagBindingInput = z.infer<typeof tagBinding>

const tagBindingLinkage = z.object({ type: z.literal('tag-bindings'), attributes: tagBinding })
/** A list of tags by name, or by the id from `GET /organizations/:name/tags`. */
const tagLinkage = z.union([
  z.object({ type: z.literal('tags'), attributes: z.object({ name: tagKey }) }),
  z.object({ type: z.literal('tags'), id: resourceId }),
])
export type TagLinkage = z.infer<typeof tagLinkage>

/** The tags in the body of a workspace or project: the linkage has attributes instead of ids. */
export const tagBindingsRelation = z.object({ data: boundedList(tagBindingLinkage) }).optional()
export const tagsRelation = z.object({ data: boundedList(tagLinkage) }).optional()

export const tagBindingsBody = z.object({ data: boundedList(tagBindingLinkage) })
export const tagsBody = z.object({ data: boundedList(tagLinkage) })

/** Refinements, since their messages are sent unchanged and clients match on them. */
const reservedKey = z.preprocess(
  (value) => value ?? '',
  z
    .string()
    .refine((text) => text !== '', { error: "Key can't be blank", abort: true })
    .refine((text) => tagKey.safeParse(text).success, {
      error: ({ input }) => `Key is invalid: it ${TAG_RULE}, and is ${JSON.stringify(input)}`,
    })
    .meta({ maxLength: TAG_MAX }),
)
const reservedTagKey = z.object({ key: reservedKey, 'disable-overrides': z.boolean().optional() })
export const createReservedTagKeyBody = requestBody('reserved-tag-keys', reservedTagKey)
export const updateReservedTagKeyBody = requestBody('reserved-tag-keys', reservedTagKey.partial())
export type CreateReservedTagKey = z.infer<typeof reservedTagKey>
export type UpdateReservedTagKey = Partial<CreateReservedTagKey>

const bindingAttributes = {
  key: z.string(),
  value: z.string().describe('empty for a tag without a value'),
  'created-at': timestamp,
}

export const tagBindingSchema = resource('tag-bindings', { attributes: bindingAttributes })
export type TagBindingResource = Written<typeof tagBindingSchema>

/** A tag that applies to a workspace. Only a tag inherited from its project has relationships and links. */
export const effectiveTagBindingSchema = resource('effective-tag-bindings', {
  attributes: bindingAttributes,
  relationships: { 'inherited-from': hasOne('projects') },
  links: { 'inherited-from': z.string() },
})
  .partial({ relationships: true, links: true })
  .meta({ id: 'EffectiveTagBinding' })
export type EffectiveTagBindingResource = Written<typeof effectiveTagBindingSchema>

/** A tag of the older interface: a name that workspaces share. */
export const tagSchema = resource('tags', {
  attributes: {
    name: z.string(),
    'created-at': timestamp,
    'instance-count': z.int().describe('how many workspaces have the tag'),
  },
  relationships: { organization: hasOne('organizations') },
})
export type TagResource = Written<typeof tagSchema>

/** A key and a value that workspaces and projects of an organization have as a tag. */
export const tagValueSchema = resource('tag-values', {
  attributes: {
    key: z.string(),
    value: z.string().describe('empty for a tag without a value'),
    'workspace-count': z.int().describe('visible workspaces that have the tag, also from their project'),
    'project-count': z.int().describe('visible projects that have the tag'),
  },
  relationships: { tag: hasOne('tags').describe('the tag of the older interface; null for one with a value') },
})
export type TagValueResource = Written<typeof tagValueSchema>

export const reservedTagKeySchema = resource('reserved-tag-keys', {
  attributes: {
    key: z.string(),
    'disable-overrides': z.boolean().describe('whether workspaces must use the value of their project'),
    'created-at': timestamp,
    'updated-at': timestamp,
    created_at: timestamp.describe('created-at, for clients that read it in snake case'),
    updated_at: timestamp.describe('updated-at, for clients that read it in snake case'),
  },
})
export type ReservedTagKeyResource = Written<typeof reservedTagKeySchema>
