import { ChevronDown, ChevronRight } from 'lucide-react'
import { type ReactNode, useId, useState } from 'react'
import { type ApiDocument, type Schema, resolved, ruleTexts, typeText } from './api-document.ts'

type SchemaTreeProps = { schema: Schema; document: ApiDocument }

/** The members of a schema. Nested ones are rendered when they are opened, since schemas refer to each other. */
export function SchemaTree({ schema, document }: SchemaTreeProps) {
  const { properties, required = [], anyOf, oneOf, additionalProperties } = resolved(schema, document)
  const variants = anyOf ?? oneOf
  if (variants) {
    return (
      <ul className="space-y-1">
        {variants.map((variant, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- variants have no other identity
          <Member key={index} name={typeText(variant)} schema={variant} document={document} isVariant />
        ))}
      </ul>
    )
  }
  const members = Object.entries(properties ?? {})
  if (typeof additionalProperties === 'object') members.push(['any name', additionalProperties])
  if (members.length === 0) return <p className="text-dim">Any JSON.</p>
  return (
    <ul className="space-y-1">
      {members.map(([name, member]) => (
        <Member key={name} name={name} schema={member} document={document} isRequired={required.includes(name)} />
      ))}
    </ul>
  )
}

type MemberProps = SchemaTreeProps & { name: string; isRequired?: boolean; isVariant?: boolean }

function Member({ name, schema, document, isRequired = false, isVariant = false }: MemberProps) {
  const about = (
    <>
      {!isVariant && <span className="text-dim">{typeText(schema)}</span>}
      {isRequired && <span className="text-warn">required</span>}
      <SchemaNotes schema={schema} />
    </>
  )
  const title = <code className={isVariant ? '' : 'font-medium'}>{name}</code>
  if (!hasMembers(schema, document))
    return (
      <li className="flex flex-wrap items-baseline gap-x-2 pl-5">
        {title} {about}
      </li>
    )
  return (
    <Disclosure as="li" title={title} about={about}>
      <SchemaTree schema={schema} document={document} />
    </Disclosure>
  )
}

/** Description and rules of a schema. */
export function SchemaNotes({ schema }: { schema: Schema }) {
  const notes = [schema.description, ...ruleTexts(schema)].filter((text) => text !== undefined)
  return notes.length === 0 ? null : <span className="min-w-0 text-dim">{notes.join('; ')}</span>
}

function hasMembers(schema: Schema, document: ApiDocument) {
  const { properties, anyOf, oneOf, additionalProperties } = resolved(schema, document)
  const variants = anyOf ?? oneOf
  if (variants) return variants.some((variant) => Object.keys(resolved(variant, document).properties ?? {}).length > 0)
  return Object.keys(properties ?? {}).length > 0 || typeof additionalProperties === 'object'
}

type DisclosureProps = { as?: 'li' | 'div'; title: ReactNode; about?: ReactNode; isOpen?: boolean; children: ReactNode }

/** A button that shows the content below it, which is rendered only while it is open. */
export function Disclosure({ as: Tag = 'div', title, about, isOpen: wasOpen = false, children }: DisclosureProps) {
  const [isOpen, setIsOpen] = useState(wasOpen)
  const id = useId()
  const Icon = isOpen ? ChevronDown : ChevronRight
  return (
    <Tag>
      <div className="flex flex-wrap items-baseline gap-x-2">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={isOpen ? id : undefined}
          onClick={() => setIsOpen(!isOpen)}
          className="inline-flex min-h-7 min-w-0 cursor-pointer items-baseline gap-1 rounded text-left hover:bg-hover"
        >
          <Icon size={16} className="shrink-0 self-center text-dim" />
          {title}
        </button>
        {about}
      </div>
      {isOpen && (
        <div id={id} className="mt-1 ml-2 border-l border-line pl-3">
          {children}
        </div>
      )}
    </Tag>
  )
}
