/** Where the page begins. */
import './style/plot.css';
import './style/page.css';
import './style/mill.css';
import './style/records.css';
import './style/trajectory.css';
import './data/frames.ts';
import { render } from 'preact';
import { App } from './app.tsx';

const page = document.getElementById('page')!;
// This is for those without a script.
page.replaceChildren();
render(<App />, page);
