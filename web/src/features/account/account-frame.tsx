import { TitleScope } from '../../components/page.tsx'
import { SectionLayout } from '../../components/section-layout.tsx'

const SECTIONS = [
  { text: 'Profile', link: { to: '/app/settings/account' } },
  { text: 'Notifications', link: { to: '/app/settings/notifications' } },
  { text: 'API tokens', link: { to: '/app/settings/tokens' } },
]

export function AccountFrame() {
  return (
    <TitleScope value="Account">
      <SectionLayout label="Account" sections={SECTIONS} />
    </TitleScope>
  )
}
