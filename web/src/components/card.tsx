import { type ReactNode, useId } from 'react'

type CardProps = {
  title?: ReactNode
  about?: ReactNode
  actions?: ReactNode
  /** The content reaches the border, as a table does. */
  isFlush?: boolean
  tone?: 'bad'
  children: ReactNode
}

export function Card({ title, about, actions, isFlush = false, tone, children }: CardProps) {
  const id = useId()
  return (
    <section
      aria-labelledby={title === undefined ? undefined : id}
      className={`overflow-hidden rounded-lg border bg-paper ${tone === 'bad' ? 'border-bad/40' : 'border-line'}`}
    >
      {title !== undefined && (
        <header className={`flex flex-wrap items-start gap-x-3 gap-y-1 px-4 pt-3 ${isFlush ? 'pb-2' : ''}`}>
          <div className="min-w-0 flex-1 basis-44">
            <h2 id={id} className="text-base font-semibold">
              {title}
            </h2>
            {about !== undefined && <div className="mt-0.5 text-dim">{about}</div>}
          </div>
          {actions}
        </header>
      )}
      <div className={isFlush ? '' : 'px-4 pt-3 pb-4'}>{children}</div>
    </section>
  )
}

/** Names with their values; omits those whose value is undefined or null. */
export function DescriptionList({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid grid-cols-[minmax(7rem,max-content)_1fr] gap-x-4 gap-y-1.5">
      {facts.map(([name, value]) =>
        value === undefined || value === null ? null : (
          <div key={name} className="contents">
            <dt className="text-dim">{name}</dt>
            <dd className="min-w-0">{value}</dd>
          </div>
        ),
      )}
    </dl>
  )
}

type CardListProps<Item> = { items: readonly Item[]; none: string; children: (item: Item) => ReactNode }

/** The rows of a flush card, or a text if there are none. */
export function CardList<Item>({ items, none, children }: CardListProps<Item>) {
  if (items.length === 0) return <p className="px-4 pb-4 text-dim">{none}</p>
  return <ul className="divide-y divide-line border-t border-line">{items.map(children)}</ul>
}
