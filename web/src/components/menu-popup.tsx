import { Menu as Primitive } from '@base-ui/react/menu'
import { TargetLink } from './links.tsx'
import type { MenuItem, MenuProps } from './menu.tsx'
import type { PopupProps } from './overlay-hosts.tsx'

const ITEM =
  'flex w-full cursor-pointer items-center gap-2 rounded px-2 py-1.5 text-ink no-underline outline-none data-highlighted:bg-hover'

export default function MenuPopup({ anchor, header, items, align = 'end', ...root }: MenuProps & PopupProps) {
  return (
    <Primitive.Root {...root}>
      {/* Portals must be inside a landmark. */}
      <Primitive.Portal container={document.querySelector<HTMLElement>('main')}>
        <Primitive.Positioner anchor={anchor} sideOffset={4} align={align} className="z-50">
          <Primitive.Popup
            finalFocus={anchor}
            className="max-h-[70vh] min-w-48 max-w-80 overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-lg outline-none"
          >
            {header !== undefined && <div className="border-b border-line px-2 py-1.5 text-dim">{header}</div>}
            {items.map((item, index) => (
              // oxlint-disable-next-line react/no-array-index-key -- separators have nothing else
              <Item key={item === 'separator' ? `separator-${index}` : item.text} item={item} />
            ))}
          </Primitive.Popup>
        </Primitive.Positioner>
      </Primitive.Portal>
    </Primitive.Root>
  )
}

function Item({ item }: { item: MenuItem }) {
  if (item === 'separator') return <Primitive.Separator className="my-1 h-px bg-line" />
  const { icon: Icon } = item
  const text = (
    <>
      {Icon && <Icon size={16} className="shrink-0" />}
      <span className="min-w-0 flex-1">
        {item.text}
        {item.reason !== undefined && <span className="block text-xs text-dim">{item.reason}</span>}
      </span>
    </>
  )
  if (item.reason !== undefined)
    return (
      <Primitive.Item disabled className={`${ITEM} cursor-not-allowed text-dim`}>
        {text}
      </Primitive.Item>
    )
  if ('link' in item)
    return <Primitive.Item render={<TargetLink leadsTo={item.link} className={ITEM} />}>{text}</Primitive.Item>
  if ('href' in item) return <Primitive.Item render={<a href={item.href} className={ITEM} />}>{text}</Primitive.Item>
  return (
    <Primitive.Item className={ITEM} onClick={item.onSelect}>
      {text}
      {item.isChecked && <span aria-label="selected">✓</span>}
    </Primitive.Item>
  )
}
