/** Writes what a page, or a part of one, shows as a picture without loss: WebP takes a third of what PNG does. */
import { execFileSync } from 'node:child_process';

export async function savePicture(shown, file) {
  execFileSync('cwebp', ['-quiet', '-lossless', '-z', '9', '-o', file, '--', '-'], { input: await shown.screenshot() });
}
