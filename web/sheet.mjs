import { chromium } from '@playwright/test'

const [out, ...files] = process.argv.slice(2)
const b = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] })
const p = await b.newPage({ viewport: { width: 2000, height: 800 } })
await p.goto('file:///work/wt/web/web/artifacts/screens/')
await p.setContent(
  '<body style="margin:0;display:grid;grid-template-columns:1fr 1fr;gap:8px;background:#888">' +
    files.map((f) => `<img style="width:100%" src="file:///work/wt/web/web/artifacts/screens/${f}.png">`).join('') +
    '</body>',
)
await p.waitForTimeout(800)
await p.screenshot({ path: out, fullPage: true })
await b.close()
