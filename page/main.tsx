/** Where the page begins. */
import 'uplot/dist/uPlot.min.css';
import './style/page.css';
import './style/mill.css';
import './style/records.css';
import './style/trajectory.css';
import './data/frames.ts';
import { render } from 'preact';
import { App } from './app.tsx';

render(<App />, document.getElementById('page')!);
